"""What a test may leave behind: processes, files in shared memory and in the temporary folder, mounts, network
interfaces.

`Snapshot.now()` before, `leaks_since(snapshot)` after. Where several pytests share the work (pytest-xdist), a test of
one sees the mounts, interfaces and shared memory of the others: `Snapshot.now(machine=False)` leaves these out.
Everything started from a test, detached grandchildren too, inherits the marker variable and is found by it, wherever
its parent went. Files in /dev/shm carry no owner's mark: one counts only if no process from outside of the tests uses
it. A process is (pid, when it started, in ticks). Two snapshots are taken for each of thousands of tests, so /proc is
read without psutil, and each process's environment once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

MARKER = "COURSE_TEST_SESSION"
KTHREADD = 2  # the parent of what is the kernel's own
GRACE_S = 3.0  # for what is on its way out when a test ends


@dataclass(frozen=True)
class Snapshot:
    processes: frozenset[tuple[int, int]]
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


def leaks_since(before: Snapshot, grace: float = GRACE_S) -> list[str]:
    """One line per thing that was not there before and is still there `grace` seconds from now."""
    deadline = time.monotonic() + grace
    while True:
        found = _leaks(before)
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def _leaks(before: Snapshot) -> list[str]:
    processes = our_processes()
    found = [
        text
        for identity, text in processes.items()
        if identity not in before.processes and not held(identity[0], before)
    ]
    found += [
        f"file {path}"
        for path in sorted(files(before.machine) - before.files)
        if not used_from_outside(path, processes)
    ]
    if not before.machine:
        return found
    found += [f"mount {mount}" for mount in sorted(mounts() - before.mounts)]
    return found + [f"network interface {name}" for name in sorted(interfaces() - before.interfaces)]


def held(pid: int, before: Snapshot) -> bool:
    """Whether a process descends from one that was there before: a fixture's kernel may replace its ranks by fresh
    ones.
    """
    there = table()
    while pid in there:
        parent, started, _ = there[pid]
        if (pid, started) in before.processes:
            return True
        pid = parent
    return False


def end_leaked_processes(before: Snapshot) -> None:
    """So that the leak of one test does not disturb the next."""
    for pid, started in set(our_processes()) - before.processes:
        if not held(pid, before) and (pid, started) in our_processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def table() -> dict[int, tuple[int, int, bytes]]:
    """{pid: (its parent, when it started, its state)} of all processes."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                # a program's name may hold spaces and brackets
                words = file.read(1024).rpartition(b")")[2].split(None, 20)
                found[int(name)] = int(words[1]), int(words[19]), words[0]
    return found


def our_processes() -> dict[tuple[int, int], str]:
    """{(pid, started): description} of the live processes that descend from this one or carry this session's marker."""
    there, marker = table(), os.environ.get(MARKER)
    known = {os.getpid(): True}
    pid = there[os.getpid()][0]
    while pid in there:
        known[pid] = False  # an ancestor
        pid = there[pid][0]

    def ours(pid: int) -> bool:
        if pid not in known:
            parent, started, _ = there.get(pid, (0, 0, b""))
            known[pid] = pid in there and (ours(parent) or bool(marker) and _marker_of(pid, started, parent) == marker)
        return known[pid]

    living = [pid for pid, (_, _, state) in there.items() if state not in b"ZX" and pid != os.getpid() and ours(pid)]
    return {(pid, there[pid][1]): f"process {pid}: {command_of(pid)}" for pid in living}


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()[:160]
    except OSError:
        return ""


_markers: dict[tuple[int, int], str | None] = {}


def _marker_of(pid: int, started: int, parent: int) -> str | None:
    """`marker_of`, read once; but again where there was none yet, as in a process that begins another program just now."""
    marker = _markers.get((pid, started)) or (None if (pid, started) in _markers else marker_of(pid))
    if marker or parent in (0, KTHREADD):
        _markers[pid, started] = marker
    return marker


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
    """Whether a file or folder in /dev/shm, which all programs share, belongs to others: made by another user while we
    are not root, or in use (mapped, open, or named in the command or the environment) by a process that is none of
    ours.
    """
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
    return any(uses(pid, path) for pid in table() if pid not in ours)


def another_session() -> bool:
    """Whether a process of other tests runs on this machine."""
    there, known, pid = table(), set(), os.getpid()
    while pid in there:
        known.add(pid)
        pid = there[pid][0]
    return any(marker_of(pid) not in (None, os.environ.get(MARKER)) for pid in there.keys() - known)


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
