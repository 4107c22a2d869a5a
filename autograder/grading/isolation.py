"""The parts of a grader's jail on this machine, and the protections that this machine cannot enforce.

`spec()` is what a `labkit.launch.launcher.Launcher` needs to run everything in a jail (`labkit.launch.jail` builds
it); `probe()` goes into such a jail and tries what a submission must not be able to do. Nothing is believed because a
setting says so.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import labkit
import probes
from labkit.launch import jail, mpi_cells

FIRST_UID = 60000  # slot k runs as user 60000 + k
SLOTS = 4000
TMP_BYTES = 128 << 20
SHM_BYTES = 256 << 20
ALL = ("namespaces", "network", "seccomp")  # what a SPEC can switch on; users, rights and limits always apply

_SYSTEM = ("bin", "lib", "lib32", "lib64", "libx32", "libexec")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "mime.types", "fonts")
_SHARE = ("openmpi", "pmix", "zoneinfo", "fonts", "mime")


class WeakIsolation(RuntimeError):
    """Raised when this machine cannot enforce all protections."""


@dataclass(frozen=True)
class Protection:
    """One thing that submissions must not be able to do. name: a word. holds: whether it was seen to hold here.

    sentence: what it protects. remedy: what to do where it does not hold.
    """

    name: str
    holds: bool
    sentence: str
    remedy: str = ""


@dataclass(frozen=True)
class Protections:
    """The protections that this machine enforces. mode: "root" (a user of its own per slot), "user" (a user namespace)
    or "none".

    switched_on: the members of `ALL` that a SPEC switches on here. items: every protection, tried.
    """

    mode: str
    switched_on: tuple[str, ...]
    items: tuple[Protection, ...]

    @property
    def missing(self) -> tuple[Protection, ...]:
        """The protections that do not hold here."""
        return tuple(item for item in self.items if not item.holds)


def spec(slot: int = 0, weak: bool = False) -> dict:
    """The jail for worker `slot`, as JSON for `Launcher(frameworks, isolation=...)`. Slots differ in the user they
    run as.

    weak: go on with what there is. Otherwise raises WeakIsolation where something is missing. spec["level"] goes into
    the cache's key.
    """
    if not 0 <= slot < SLOTS:
        raise ValueError(f"slot {slot}: there are {SLOTS}")
    found = probe()
    if found.missing and not weak:
        names = ", ".join(item.name for item in found.missing)
        raise WeakIsolation(
            f"this machine cannot enforce: {names}. `autograder doctor` says what to do; "
            "--allow-weak-isolation grades without."
        )
    return _spec(found.mode, slot, found.switched_on)


# -- going in and trying ----------------------------------------------------------------------------------------------

# Runs inside. argv: a JSON object with what there is outside. Prints a JSON object: what it found and what was
# possible.
_TRIAL = """
import ctypes, errno, json, mmap, os, resource, socket, sys, time
outside = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)

def reached(family, address):
    with socket.socket(family) as sock:
        sock.settimeout(2)
        try:
            sock.connect(address)
        except OSError:
            return False
    return True

def imported(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True

def refused(call, *arguments):
    ctypes.set_errno(0)
    return getattr(libc, call)(*arguments) != 0 and ctypes.get_errno() == errno.EPERM

def written(path):
    try:
        with open(path, "x"):
            os.unlink(path)
    except OSError:
        return False
    return True

def timed(path):
    try:
        os.utime(path, (1, 1))
    except OSError:
        return False
    return True

def allowed_children():
    wait, ours = os.pipe()
    count = 0
    try:
        while count < 200:
            if os.fork() == 0:
                os.close(ours)
                os.read(wait, 1)
                os._exit(0)
            count += 1
    except OSError:
        pass
    os.close(ours)
    for _ in range(count):
        os.wait()
    return count

status = dict(line.split(":", 1) for line in open("/proc/self/status"))
found = {
    "fds": [fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists("/proc/self/fd/" + fd)],
    "seen": [path for path in outside["paths"] if os.path.lexists(path)],
    "autograder": imported("autograder"),
    "written": [path for path in outside["writable"] if written(path + "/" + outside["abstract"])],
    "processes": sum(name.isdigit() for name in os.listdir("/proc")),
    "inet": reached(socket.AF_INET, tuple(outside["inet"])),
    "abstract": reached(socket.AF_UNIX, chr(0) + outside["abstract"]),
    "uid": os.getuid(),
    "capabilities": any(int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd")),
    "no_new_privs": status.get("NoNewPrivs", "0").strip() == "1",
    "counters": any(map(os.path.exists, ("/proc/meminfo", "/proc/sys", "/sys/devices")))
    or not refused("sysinfo", b" " * 256),
    "filter": refused("unshare", 0x10000000) and refused("ptrace", 16, 1, 0, 0)
    and refused("semget", 4711, 1, 0) and refused("shmget", 4711, 1, 0)
    and (refused("syscall", 444, 0, 0, 1) or not outside["stay"]),
    "times": timed("/dev/null") or timed("/dev/urandom"),
    "numpy": imported("numpy"),
    "folders": max(os.statvfs(path).f_blocks * os.statvfs(path).f_frsize for path in ("/tmp", "/dev/shm")),
}
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
try:
    mmap.mmap(-1, 2 << 30, flags=mmap.MAP_PRIVATE)
    found["memory"] = False
except (OSError, MemoryError):
    found["memory"] = True
found["children"] = allowed_children()
print(json.dumps(found), flush=True)
if outside["stay"] and os.fork() == 0:
    os.setsid()
    time.sleep(60)
"""
_TRIAL_PROCESSES = 24
_ATTEMPTS = (
    *((mode, on) for mode in ("root", "user") for on in (ALL, ("namespaces", "seccomp"), ("namespaces", "network"))),
    *((mode, on) for mode in ("root", "none") for on in (("seccomp",), ())),
)


@functools.cache
def probe() -> Protections:
    """The protections that this machine enforces, found out by trying, once per process (a tenth of a second)."""
    if not sys.platform.startswith("linux"):
        return _judged("none", (), None)
    for mode, protections in _ATTEMPTS:
        if mode == "root" and os.geteuid() != 0:
            continue
        found = _try(mode, protections)
        if found is not None and found["numpy"]:
            return _judged(mode, protections, found)
    return _judged("none", (), None)


def _try(mode: str, protections: tuple[str, ...]) -> dict | None:
    """The findings of a program in such a jail; None if the jail could not be built or nothing could run in it."""
    with _outside() as outside:
        outside["stay"] = "namespaces" in protections
        two = _start_two_ranks(mode, protections)
        # A user whom no grader at work on this machine uses.
        spec = _spec(mode, SLOTS + os.getpid() % 1000, protections)
        spec |= {"keep": [], "folder": outside["writable"][-1], "alone": True}
        spec["limits"] = {"file_bytes": 1 << 20, "memory_bytes": 2 << 30, "processes": _TRIAL_PROCESSES}
        command = [sys.executable, "-I", "-c", _TRIAL, json.dumps(outside)]
        process = _start(spec, "run", command)
        try:
            said, _ = process.communicate(timeout=30)  # ends when nobody holds the pipe any more
            found = {**json.loads(said.splitlines()[0]), "gone": outside["stay"]}
        except subprocess.TimeoutExpired:
            process.kill()
            found = None
        except (IndexError, ValueError):
            found = None
        finally:
            process.stdout.close()
            process.wait()
            between = _said_between(two)
    return found and {**found, "between": between}


def _start_two_ranks(mode: str, protections: tuple[str, ...]) -> subprocess.Popen | None:
    """Two ranks of an MPI job in such a jail, one of which prints what the other can tell it beside MPI
    (`probes.between_ranks`); None where ranks are not kept apart."""
    if "namespaces" not in protections:
        return None
    spec = _spec(mode, SLOTS + 1000 + os.getpid() % 1000, protections) | {"keep": [], "loopback": True}
    spec["limits"] = {"file_bytes": 1 << 20, "memory_bytes": 2 << 30, "processes": _TRIAL_PROCESSES}
    probe = [sys.executable, "-S", "-m", "probes.between_ranks"]
    command = mpi_cells.command(spec, 2, [*probe, "cell"], [*probe, "two"], stubs=2)
    return _start(spec, "serve", command)


def _start(spec: dict, how: str, command: Sequence[str]) -> subprocess.Popen:
    """A command in a jail of its own, whose output can be read."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", jail.__file__, json.dumps(spec), how, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=spec["environment"],
        cwd="/",
        start_new_session=True,
    )


def _said_between(two: subprocess.Popen | None) -> list[str] | None:
    """The ways by which one of them has heard of the other; None where that could not be tried."""
    if two is None:
        return None
    with two:
        try:
            return list(json.loads(two.communicate(timeout=30)[0]))
        except (subprocess.TimeoutExpired, ValueError):
            two.kill()
            return None


@contextlib.contextmanager
def _outside() -> Iterator[dict]:
    """Things outside that must be out of reach inside: a file, two listening sockets, the course."""
    name = f"course-probe-{os.getpid()}-{os.urandom(8).hex()}"
    with (
        tempfile.TemporaryDirectory(prefix="probe-") as folder,
        socket.socket() as inet,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        os.chmod(folder, 0o777)
        inet.bind(("127.0.0.1", 0))
        abstract.bind(f"\0{name}")
        for sock in (inet, abstract):
            sock.listen()
        root = _package_root()
        course = [
            str(root / part) for part in ("autograder", "units", "solutions", "tests", "nbgrader_config.py", ".git")
        ]
        yield {
            "paths": [*course, folder],
            "writable": [sys.prefix, os.path.dirname(os.__file__), "/", "/usr/lib", jail.ROOT_MAP, folder],
            "inet": inet.getsockname(),
            "abstract": name,
        }


_NAMESPACES = (
    "Run as root, or let ordinary users make user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), "
    "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), user.max_user_namespaces above 0; in a container, "
    "start it with --privileged or a seccomp profile that allows unshare and mount."
)
_USER_OF_ITS_OWN = "Submissions run as a user of their own, each slot another."
_PROTECTIONS = (  # name, what it protects, what to do where it does not hold
    (
        "files",
        "Submissions see the interpreter and its libraries, read-only, and nothing else: no course, no keys, no home.",
        _NAMESPACES,
    ),
    ("processes", "Submissions see no process but their own.", _NAMESPACES),
    ("end", "When a case ends, all it has started ends.", _NAMESPACES),
    ("network", "No network, no sockets of other processes.", _NAMESPACES),
    ("user", "Submissions run in a user namespace of their own.", _NAMESPACES),
    ("rights", "No capabilities, and no way to get any.", "Linux 3.5 or later is needed."),
    (
        "system calls",
        "System calls that no exercise needs are refused (seccomp): ptrace, mount, namespaces, keys, bpf ...",
        "A kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64 is needed.",
    ),
    (
        "counters",
        "Ranks do not see what the kernel counts for the whole machine: files, memory, processor time.",
        'Linux 5.8 or later, and what "system calls" needs.',
    ),
    (
        "ranks of MPI",
        "The ranks of an MPI job have no files, locks, sockets, signals or processes in common: they talk through MPI.",
        _NAMESPACES,
    ),
    ("memory", "A process gets the memory it may have and no more.", "Linux 4.7 or later."),
    (
        "number of processes",
        "A fork bomb ends at a limit of its own and starves nobody.",
        "Linux 5.14 or later is needed to count by user namespace; or run as root.",
    ),
    ("disk", "/tmp and /dev/shm are private, limited in size and gone with the case.", _NAMESPACES),
    ("descriptors", "Nothing of the grader's is left open.", "Please report this."),
)


def _judged(mode: str, switched_on: tuple[str, ...], found: dict | None) -> Protections:
    """All protections, each marked as holding or not by what the trial `found` (None: it did not run)."""
    holds = _holding(found or {})
    items = (
        Protection(name, holds[name], _USER_OF_ITS_OWN if (name, mode) == ("user", "root") else sentence, remedy)
        for name, sentence, remedy in _PROTECTIONS
    )
    return Protections(mode, switched_on, tuple(items))


def _holding(found: dict) -> dict[str, bool]:
    """Protection's name -> whether it held in the trial."""

    def nothing(*names: str) -> bool:
        return all(found.get(name) is False or found.get(name) == [] for name in names)

    return {
        "files": nothing("seen", "autograder", "written", "times"),
        "processes": found.get("processes", 99) <= 3,
        "end": bool(found.get("gone")),
        "network": nothing("inet", "abstract"),
        "user": found.get("uid", 0) >= FIRST_UID,
        "rights": nothing("capabilities") and found.get("no_new_privs", False),
        "system calls": bool(found.get("filter")),
        "counters": nothing("counters"),
        "ranks of MPI": nothing("between"),
        "memory": bool(found.get("memory")),
        "number of processes": 8 <= found.get("children", 0) <= _TRIAL_PROCESSES,
        "disk": 0 < found.get("folders", 0) <= max(TMP_BYTES, SHM_BYTES),
        "descriptors": nothing("fds"),
    }


# -- what it is made of -----------------------------------------------------------------------------------------------


def _spec(mode: str, slot: int, protections: tuple[str, ...]) -> dict:
    """The SPEC that `labkit.launch.jail` builds. mode: "root", "user", or "none" where not even the user can be
    changed."""
    binds, links = _shown()
    course = jail.ROOT_MAP if "namespaces" in protections else str(_package_root())
    uid = FIRST_UID + slot
    return {
        "level": f"{mode}:{'+'.join(protections)}",
        "mode": mode,
        "slot": slot,
        "uid": uid,
        "protections": list(protections),
        "binds": binds,
        "links": links,
        "packages": [os.path.dirname(os.path.realpath(package.__file__)) for package in (labkit, probes)],
        "hidden": _hidden(binds),
        "files": _files(uid),
        "environment": _environment(course),
        "path": [course, *_library_folders()],
        "tmp_bytes": TMP_BYTES,
        "shm_bytes": SHM_BYTES,
    }


def _package_root() -> Path:
    return Path(labkit.__file__).resolve().parent.parent


def _library_folders() -> list[str]:
    """The folders of Python itself and of the installed packages: those of `sys.path` that the jail shows."""
    standard = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    inside = standard | {os.path.join(folder, "lib-dynload") for folder in standard}
    kept = []
    for folder in map(os.path.realpath, sys.path):
        packages = os.path.basename(folder) in ("site-packages", "dist-packages") and os.path.isdir(folder)
        if (packages or folder in inside) and folder not in kept:
            kept.append(folder)
    return kept


def _shown() -> tuple[list[str], dict[str, str]]:
    """(folders and files shown read-only, symbolic links to make): interpreter, installed packages, the system's
    libraries."""
    binds: list[str] = []
    links: dict[str, str] = {}
    for name in _SYSTEM:
        if os.path.islink(f"/{name}"):
            links[f"/{name}"] = os.readlink(f"/{name}")
        elif os.path.isdir(f"/{name}"):
            binds.append(f"/{name}")
    prefixes = dict.fromkeys(
        os.path.realpath(p) for p in ("/usr", "/usr/local", sys.base_prefix, sys.prefix) if p != "/"
    )
    for prefix in prefixes:
        wanted = [f"{prefix}/{name}" for name in (*_SYSTEM, "pyvenv.cfg", *(f"share/{name}" for name in _SHARE))]
        wanted += [f"{prefix}/etc/{name}" for name in ("openmpi-mca-params.conf", "pmix-mca-params.conf")]
        for path in wanted:
            if os.path.islink(path):
                links[path] = os.readlink(path)
            elif os.path.exists(path):
                binds.append(path)
    links |= {p: os.path.realpath(p) for p in (sys.base_prefix, sys.prefix) if os.path.islink(p)}  # a shared .venv
    binds += [f"/etc/{name}" for name in _ETC if os.path.exists(f"/etc/{name}") and not os.path.islink(f"/etc/{name}")]
    binds += _library_folders()
    binds += [folder for folder in ("/sys/devices/system/cpu", "/sys/devices/system/node") if os.path.isdir(folder)]
    return _outermost(binds), {p: t for p, t in links.items() if not any(p.startswith(f"{b}/") for b in binds)}


def _outermost(paths: list[str]) -> list[str]:
    """The paths without duplicates, and without those below another one."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(f"{other}/") for other in kept):
            kept.append(path)
    return kept


def _hidden(binds: list[str]) -> list[str]:
    """Folders within what is shown that must not be: copies of the graders installed as packages, and where packages
    keep settings."""
    found = []
    for folder in _library_folders():
        for name in ("autograder", "nbgrader", "tests"):
            path = os.path.join(folder, name)
            if os.path.isdir(path) and any(path.startswith(f"{bind}/") for bind in binds):
                found.append(path)
    return found


def _files(uid: int) -> dict[str, str]:
    """The small files of /etc that programs look for: path -> content."""
    return {
        "/etc/passwd": f"root:x:0:0::/:/bin/false\nstudent:x:{uid}:{uid}::/tmp:/bin/sh\n",
        "/etc/group": f"root:x:0:\nstudent:x:{uid}:\n",
        "/etc/hosts": "127.0.0.1 localhost course\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }


def _environment(course: str) -> dict[str, str]:
    """The environment inside: an allow-list, because an instructor's holds tokens and paths."""
    kept = {
        name: os.environ[name] for name in ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH") if name in os.environ
    }
    folders = dict.fromkeys(
        [sysconfig.get_path("scripts"), os.path.dirname(os.path.realpath(sys.executable)), "/usr/bin", "/bin"]
    )
    return {
        **kept,
        "PATH": os.pathsep.join(folders),
        "PYTHONPATH": course,
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/tmp",
        "USER": "student",
        "TMPDIR": "/tmp",
        "MPLCONFIGDIR": "/tmp/matplotlib",
    }
