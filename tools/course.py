"""The course's places on this machine, and the small things its set-up shares: lines, locks, JSON files, logged
commands.

Standard library only, and syntax that Python 3.6 understands: set-up begins before there is an environment.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What the course runs on, a lock file for each. Only the first has the frameworks: later ones have no TensorFlow 2.15,
# and so nothing that needs it.
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
FULL = PYTHONS[0]
GIB = 2**30


class Trouble(Exception):
    """An error that its reader can mend; it is shown without a traceback."""


class Course:
    """The places of things: `root` the clone, `env` the Python environment, `cache` what can be made again."""

    def __init__(self, root=ROOT, env=None, version=None):
        self.root = Path(root)
        self.env = Path(env) if env else self.root / ".venv"
        self.cache = self.root / ".cache"
        self.logs = self.cache / "setup"
        self.version = version or version_of(self.env) or FULL

    @property
    def python(self):
        return self.env / "bin" / "python"

    @property
    def stamp_file(self):
        """The file in which the environment says which lock file it was made from, and by which checkout."""
        return self.env / "course-stamp.json"

    @property
    def setup_lock(self):
        """The lock of a set-up that writes: beside the environment, so that all who write there share it."""
        return self.logs / "lock" if self.env == self.root / ".venv" else self.env / "course-setup.lock"

    @property
    def lender(self):
        """The folder of the checkout whose environment this one only uses; None where it is its own.

        Used, never written: an environment behind a link, and one that another checkout made which is still there. A
        copy of a checkout has a copy of its environment, and that is its own.
        """
        maker = read_json(self.stamp_file).get("root")
        if self.env.is_symlink():
            return Path(maker or self.env.resolve().parent)
        if not maker or Path(maker) == self.root or not Path(maker, "tools").is_dir():
            return None
        if self.env != self.root / ".venv":  # conda's, which has one place
            return Path(maker)
        try:
            return Path(maker) if os.path.samefile(str(Path(maker, ".venv")), str(self.env)) else None
        except OSError:
            return None

    @property
    def lock_file(self):
        return self.root / (
            "requirements.lock.txt" if self.version == FULL else f"requirements.lock.{in_dots(self.version)}.txt"
        )

    @property
    def site_packages(self):
        return self.env / "lib" / f"python{in_dots(self.version)}" / "site-packages"

    @property
    def frameworks(self):
        """False for a course without TensorFlow and Horovod: its course.toml says so (docs/frameworks.md)."""
        try:
            text = (self.root / "course.toml").read_text(encoding="utf-8")
        except OSError:
            return True
        return re.search(r"^frameworks\s*=\s*false\b", text, re.M) is None

    @property
    def has_frameworks(self):
        """True for an environment that gets them: the course wants them, and its Python is the one that they run on."""
        return self.frameworks and self.version == FULL

    @property
    def pythons(self):
        """The Pythons that set-up takes, the best first: the one with frameworks, where the course wants them."""
        return PYTHONS if self.frameworks else PYTHONS[1:] + PYTHONS[:1]

    def pins(self):
        """The lock file as {name: version}, in its order. Where the course leaves the frameworks out, those packages
        that the next Python's lock file has, too: what is in the first one alone came with TensorFlow.
        """
        pins = read_pins(self.lock_file.read_text())
        if self.frameworks or self.version != FULL:
            return pins
        kept = read_pins(Course(self.root, self.env, PYTHONS[1]).lock_file.read_text())
        return {name: version for name, version in pins.items() if name in kept}

    def variables(self):
        """The environment a program of the course runs in: its bin first on PATH, no foreign Python settings."""
        variables = {
            k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__")
        }
        variables["PATH"] = str(self.env / "bin") + os.pathsep + variables.get("PATH", os.defpath)
        if (self.env / "pyvenv.cfg").exists():
            variables["VIRTUAL_ENV"] = str(self.env)
        if self.lender is not None:  # its labkit is the lender's
            variables["PYTHONPATH"] = str(self.root)
        return variables

    def pip(self, *arguments):
        return [str(self.python), "-m", "pip"] + [str(argument) for argument in arguments]

    def pip_variables(self):
        """Mirrors and certificates set by the user or the machine hold; settings that would install elsewhere do
        not."""
        variables = self.variables()
        for name in ("USER", "TARGET", "PREFIX", "ROOT", "REQUIRE_VIRTUALENV", "QUIET", "VERBOSE", "DRY_RUN"):
            variables.pop("PIP_" + name, None)
        variables.update(
            PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_ROOT_USER_ACTION="ignore", PYTHONUNBUFFERED="1"
        )
        return variables


def in_dots(version):
    return ".".join(str(part) for part in version)


def version_of(env):
    """The Python of an environment, known by its folders; None where there is none that the course runs on."""
    for version in PYTHONS:
        if (Path(env) / "lib" / f"python{in_dots(version)}" / "site-packages").is_dir():
            return version
    return None


def read_pins(text):
    """{name: version} of a lock file. Raises Trouble on a line that is not NAME==VERSION."""
    pins = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        match = re.match(r"^([A-Za-z0-9._-]+)==([A-Za-z0-9.+!_-]+)$", line)
        if not match:
            raise Trouble(f"lock file, line {number}: expected NAME==VERSION, found {line!r}.")
        pins[match.group(1)] = match.group(2)
    return pins


# ------------------------------------------------------------------------------------------------------- installed
# packages


def normalised(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def dist_infos(site_packages):
    """{(normalised name, version): folder} of the installed packages, by the names of their metadata folders."""
    found = {}
    try:
        entries = os.listdir(str(site_packages))
    except OSError:
        return found
    for entry in entries:
        if entry.endswith(".dist-info"):
            name, _, version = entry[: -len(".dist-info")].rpartition("-")
            found[(normalised(name), version)] = Path(site_packages) / entry
    return found


def is_whole(info, most=None):
    """True if pip finished this package and its files have their recorded sizes.

    most: look only at so many of its modules (a quick look); None: at every file.
    """
    if not (info / "INSTALLER").exists():  # written last
        return False
    looked_at = 0
    try:
        with open(str(info / "RECORD"), encoding="utf-8") as record:
            for line in record:
                rest, _, size = line.strip().rpartition(",")
                name = rest.rpartition(",")[0].strip('"')
                if not name or name.endswith((".pyc", "RECORD")):
                    continue
                if most is not None and (name.startswith("..") or ".dist-info/" in name):
                    continue  # commands, data and metadata come first in RECORD
                found = os.stat(str(info.parent / name)).st_size
                if size and found != int(size) and not name.startswith(".."):  # commands grow with the path in them
                    return False
                looked_at += 1
                if looked_at == most:
                    return True
    except (OSError, ValueError):
        return False
    return True


# -------------------------------------------------------------------------------------------------------------------
# output


def say(name, text, done=True):
    """One tidy line. On a terminal an unfinished line (done=False) is overwritten by the next; elsewhere it is left
    out."""
    line = f"  {name:<12} {text}"
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        sys.stdout.write("\r\033[K" + (line + "\n" if done else line[: width - 1]))
    elif done:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def since(start):
    return f"{time.monotonic() - start:.0f} s"


def run_logged(course, log_name, command, env=None, check=True, on_line=None):
    """Run a command with its output in .cache/setup/LOG and return its exit status.

    on_line: called with every line of output. check: an exit status other than 0 is Trouble that shows the end of the
    log.
    """
    course.logs.mkdir(parents=True, exist_ok=True)
    log_path = course.logs / log_name
    command = [str(part) for part in command]
    with open(str(log_path), "a", encoding="utf-8") as log:
        log.write(f"\n$ {' '.join(command)}\n")
        log.flush()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=str(course.root),
        )
        try:
            for raw in process.stdout:
                line = raw.decode("utf-8", "replace")
                log.write(line)
                if on_line:
                    on_line(line)
        except BaseException:
            process.terminate()
            raise
        finally:
            process.stdout.close()
            process.wait()
    if check and process.returncode:
        shown = " ".join(command[:5]) + (" ..." if len(command) > 5 else "")
        raise Trouble(
            f"`{shown}` failed. The end of {log_path}:\n{tail(log_path)}\n"
            "What was fetched and installed so far is kept: run the same command again to go on."
        )
    return process.returncode


def tail(path, lines=12):
    """The end of a log, indented, without pip's remarks on where it looked."""
    text = path.read_text(encoding="utf-8", errors="replace").splitlines()
    worth = [
        line for line in text if line.strip() and not line.lstrip().startswith(("WARNING: Location", "Looking in"))
    ]
    return "\n".join("    " + line for line in worth[-lines:])


# ---------------------------------------------------------------------------------------------------------- files and
# locks


def file_hash(*paths):
    digest = hashlib.sha256()
    for path in paths:
        digest.update(Path(path).read_bytes() + b"\0")
    return digest.hexdigest()


def write_json(path, content):
    """Written beside and renamed: a reader sees the old or the new content, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
    os.replace(str(beside), str(path))


def read_json(path):
    """The object in a JSON file; {} if it is absent or damaged."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def try_lock(handle):
    """True: locked. False: another process holds it. None: this file system (some network homes) has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError as error:
        return False if error.errno in (errno.EAGAIN, errno.EACCES) else None


@contextlib.contextmanager
def exclusively(path, when_taken=None):
    """Hold a lock on `path`; if another process has it, call `when_taken()` and wait. It is freed when its holder
    dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(str(path), "a") as handle:
        if try_lock(handle) is False:
            if when_taken:
                when_taken()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
