"""What a test may leave behind: processes, files in shared memory and in the temporary folder, mounts, network interfaces.

`Snapshot.now()` before, `leaks_since(snapshot)` after. Where several pytests share the work (pytest-xdist), a test of one sees the mounts,
interfaces and shared memory of the others: `Snapshot.now(machine=False)` leaves these out. Everything started from a test, detached grandchildren too, inherits
the marker variable and is found by it, wherever its parent went. Files in /dev/shm carry no owner's mark: one counts only if
no process from outside of the tests uses it.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

MARKER = "COURSE_TEST_SESSION"
GRACE_S = 3.0  # for what is on its way out when a test ends


@dataclass(frozen=True)
class Snapshot:
    processes: frozenset[tuple[int, float]]
    files: frozenset[str]
    mounts: frozenset[str]
    interfaces: frozenset[str]
    machine: bool = True

    @classmethod
    def now(cls, machine: bool = True) -> Snapshot:
        """machine: also what all programs of the machine share."""
        shared = (mounts(), interfaces()) if machine else ((), ())
        return cls(frozenset(our_processes()), frozenset(files(machine)), *map(frozenset, shared), machine)

    def __or__(self, other: Snapshot) -> Snapshot:
        return Snapshot(
            self.processes | other.processes,
            self.files | other.files,
            self.mounts | other.mounts,
            self.interfaces | other.interfaces,
            self.machine and other.machine,
        )


def leaks_since(before: Snapshot) -> list[str]:
    """One line per thing that was not there before and is still there after the grace period."""
    deadline = time.monotonic() + GRACE_S
    while True:
        found = _leaks(before)
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def _leaks(before: Snapshot) -> list[str]:
    processes = our_processes()
    found = [text for identity, text in processes.items() if identity not in before.processes and not held(identity[0], before)]
    found += [f"file {path}" for path in sorted(files(before.machine) - before.files) if not used_from_outside(path, processes)]
    if not before.machine:
        return found
    found += [f"mount {mount}" for mount in sorted(mounts() - before.mounts)]
    return found + [f"network interface {name}" for name in sorted(interfaces() - before.interfaces)]


def held(pid: int, before: Snapshot) -> bool:
    """Whether a process descends from one that was there before: a fixture's kernel may replace its ranks by fresh ones."""
    try:
        return any((parent.pid, parent.create_time()) in before.processes for parent in psutil.Process(pid).parents())
    except psutil.Error:
        return False


def end_leaked_processes(before: Snapshot) -> None:
    """So that the leak of one test does not disturb the next."""
    for pid, started in set(our_processes()) - before.processes:
        if held(pid, before):
            continue
        try:
            process = psutil.Process(pid)
            if process.create_time() == started:
                process.kill()
        except psutil.Error:
            pass


def our_processes() -> dict[tuple[int, float], str]:
    """{(pid, start time): description} of the live processes that descend from this one or carry this session's marker."""
    marker = os.environ.get(MARKER)
    ancestors = {os.getpid(), *(process.pid for process in psutil.Process().parents())}
    ours = set(psutil.Process().children(recursive=True))
    for process in psutil.process_iter():
        if process.pid not in ancestors and marker and marker_of(process.pid) == marker:
            ours.add(process)
    described = {}
    for process in ours:
        try:
            with process.oneshot():
                if process.status() != psutil.STATUS_ZOMBIE:
                    command = " ".join(process.cmdline())[:160] or process.name()
                    described[(process.pid, process.create_time())] = f"process {process.pid}: {command}"
        except psutil.Error:
            pass
    return described


def marker_of(pid: int) -> str | None:
    """The marker in the environment that a process was started with."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    found = [text for text in variables if text.startswith(MARKER.encode() + b"=")]
    return found[0].partition(b"=")[2].decode() if found else None


def files(machine: bool = True) -> set[str]:
    found = set()
    for folder in (tempfile.gettempdir(), "/dev/shm") if machine else (tempfile.gettempdir(),):
        try:
            found |= {os.path.join(folder, name) for name in os.listdir(folder)}
        except OSError:
            pass
    cache = "__pycache__"  # of programs that TensorFlow's autograph writes there, and removes
    return {path for path in found if not os.path.basename(path).startswith(("pytest-of-", cache))}


def used_from_outside(path: str, processes: dict[tuple[int, float], str]) -> bool:
    """Whether a file or folder in /dev/shm, which all programs share, belongs to others: made by another user while we are not root, or
    in use (mapped, open, or named in the command or the environment) by a process that is none of ours."""
    if not path.startswith("/dev/shm/"):
        return False
    try:
        if os.geteuid() != 0 and os.stat(path).st_uid != os.geteuid():
            return True
    except OSError:
        return True  # gone meanwhile
    ours = {pid for pid, _ in processes} | {os.getpid()}
    if another_session():
        return True  # nothing tells whose a file is that nobody uses
    return any(uses(process.pid, path) for process in psutil.process_iter() if process.pid not in ours)


def another_session() -> bool:
    """Whether a process of other tests runs on this machine."""
    known = {os.getpid(), *(process.pid for process in psutil.Process().parents())}
    others = [process.pid for process in psutil.process_iter() if process.pid not in known]
    return any(marker_of(pid) not in (None, os.environ.get(MARKER)) for pid in others)


def uses(pid: int, path: str) -> bool:
    held = []
    try:
        told = [Path(f"/proc/{pid}/{name}").read_bytes() for name in ("maps", "cmdline", "environ")]
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                held.append(os.readlink(handle))
    except OSError:
        return False
    return any(path.encode() in text for text in told) or any(f"{name}/".startswith(f"{path}/") for name in held)


def mounts() -> set[str]:
    try:
        return {" ".join(line.split()[3:5]) for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    except OSError:
        return set()


def interfaces() -> set[str]:
    try:
        return set(os.listdir("/sys/class/net"))
    except OSError:
        return set()
