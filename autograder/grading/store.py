"""The grader's own store beside nbgrader's files, in COURSE/.autograder: results, marks of what is graded, and a lock.

    results/DIGEST.json                the result of one submission, by the hash of everything that decides it
    scratch/                           what is needed for a moment
    times/ASSIGNMENT/STUDENT.json      what is to be said of the time at which it was handed in
    graded/ASSIGNMENT/STUDENT.json     its grades are in the gradebook and its folder in autograded/ is complete
    lock                               held by whoever writes to the gradebook; says who that is

Every file is written beside its place and then renamed, so a reader finds it whole or not at all, whatever kills the
writer.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import getpass
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import autograder.content as content
from autograder.registry import overlay_digests

FOLDER = ".autograder"
POLL_S = 0.05  # how often a waiting process looks whether the lock is free


class Busy(RuntimeError):
    """Somebody else grades in this course."""


class DiskFull(OSError):
    """There is no room left for what grading has to write."""


class Store:
    """The folder COURSE/.autograder; made on first use, readable by its owner only. keeps: new results, too."""

    def __init__(self, course: Path | str, keeps: bool = True):
        self.course, self.keeps = Path(course).resolve(), keeps
        self.folder = self.course / FOLDER

    # -- results ------------------------------------------------------------------------------------------------------

    def result(self, digest: str) -> dict | None:
        """The kept result, or None. A file that cannot be read counts as absent: judging again is cheap, trusting
        half of it is not."""
        return _read(self._result(digest))

    def keep_result(self, digest: str, result: dict) -> None:
        """Keep what was judged, unless this store keeps nothing. Raises DiskFull."""
        if self.keeps:
            self._write(self._result(digest), result)

    def _result(self, digest: str) -> Path:
        return self.folder / "results" / f"{digest}.json"

    # -- what is graded -----------------------------------------------------------------------------------------------

    def mark(self, assignment: str, student: str) -> dict | None:
        """The note that was made when the submission had been graded, or None."""
        return _read(self._mark(assignment, student))

    def set_mark(self, assignment: str, student: str, note: dict) -> None:
        """Raises DiskFull."""
        self._write(self._mark(assignment, student), note)

    def remove_mark(self, assignment: str, student: str) -> None:
        """Removes the mark of a graded submission: from now on it counts as not graded."""
        self._mark(assignment, student).unlink(missing_ok=True)

    def _mark(self, assignment: str, student: str, kind: str = "graded") -> Path:
        return self.folder / kind / quote(assignment, safe="") / f"{quote(student, safe='')}.json"

    def time_note(self, assignment: str, student: str) -> str:
        """The sentence about the time of a collected submission, without its full stop; "" where there is nothing to
        say."""
        return str((_read(self._mark(assignment, student, "times")) or {}).get("says", ""))

    def set_time_note(self, assignment: str, student: str, says: str | None) -> None:
        """Keeps that sentence; None: there is nothing to say of this submission. Raises DiskFull."""
        place = self._mark(assignment, student, "times")
        if says is None:
            place.unlink(missing_ok=True)
        else:
            self._write(place, {"says": says})

    def _write(self, path: Path, data: dict) -> None:
        part = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part.write_text(json.dumps(data), encoding="utf-8")
            os.replace(part, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            if is_disk_full(error):
                raise DiskFull(f"there is no room left in {self.folder}") from error
            raise

    @property
    def scratch(self) -> Path:
        """A folder for what is needed for a moment: what a killed process leaves there, the next run removes. Raises
        DiskFull."""
        folder = self.folder / "scratch"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            if is_disk_full(error):
                raise DiskFull(f"there is no room left in {self.folder}") from error
            raise
        return folder

    def remove_leftovers(self) -> None:
        """Remove what killed writers left half written. Only for the holder of the lock."""
        shutil.rmtree(self.folder / "scratch", ignore_errors=True)
        for part in self.folder.glob("**/.*.json.*"):
            if not _alive(part.suffix[1:]):
                with contextlib.suppress(OSError):
                    part.unlink()

    # -- the lock -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lock(self, doing: str, wait: float = 0.0) -> Iterator[None]:
        """Hold the course's lock: within, nobody else writes to its gradebook. Raises Busy, saying who holds it.

        doing: what others are told meanwhile, "grades 03_collectives". wait: seconds to wait for it. The same thread
        may take it again inside. The lock ends with the process, however that ends.
        """
        with _THREADS:
            inner = _LOCKS.setdefault(str(self.folder), _Lock())
        if not inner.thread.acquire(timeout=max(wait, 0.001)):
            raise Busy("another thread of this process grades in this course")
        try:
            if inner.file is not None:
                yield
                return
            inner.file = self._take(doing, wait)
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    os.ftruncate(inner.file, 0)
                os.close(inner.file)
                inner.file = None
        finally:
            inner.thread.release()

    def _take(self, doing: str, wait: float) -> int:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() < end:
                    time.sleep(POLL_S)
                    continue
                holder = os.pread(descriptor, 4096, 0).decode(errors="replace")
                os.close(descriptor)
                raise Busy(_told(holder)) from None
        note = {"who": _user(), "doing": doing, "pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        with contextlib.suppress(OSError):  # on a full disk the lock still locks, it only cannot say for whom
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(note).encode(), 0)
        return descriptor


class _Lock:
    """One course's lock in this process. thread: taken by the thread that holds it. file: open and locked while it is
    held, else None."""

    def __init__(self):
        self.thread = threading.RLock()
        self.file: int | None = None


_THREADS = threading.Lock()
_LOCKS: dict[str, _Lock] = {}


# -- what decides results ---------------------------------------------------------------------------------------------


def version() -> list:
    """All that a verdict depends on besides the submission: our code, the overlay's exercises as loaded, the versions
    of the packages."""
    return [code_version(), overlay_digests(), _package_versions()]


@functools.cache
def code_version() -> str:
    """A hash of everything of ours that judges: the engine, and the exercises of the course's units."""
    found = hashlib.sha256()
    engine, course = Path(__file__).resolve().parents[2], content.root()
    files = [(engine, path) for part in ("autograder", "labkit", "probes") for path in engine.glob(f"{part}/**/*.py")]
    rooms = [
        path
        for name in ("exercises.py", "harness.py", "answers/*.py")
        for path in course.glob(f"{content.UNITS}/*/{name}")
    ]
    files += [(course, path) for path in (course / content.FILE, *rooms)]
    for root, path in sorted(files):
        found.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return found.hexdigest()


@functools.cache
def _package_versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("numpy", "torch", "mpi4py", "tensorflow-cpu", "horovod"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def is_disk_full(error: BaseException | None) -> bool:
    """True if the error, or one it came from, says that nothing more can be written: disk, quota or largest size of a
    file."""
    while error is not None:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or isinstance(error, DiskFull):
            return True
        if "database or disk is full" in str(error) or "disk I/O error" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def free_bytes(path: Path) -> int:
    """The free bytes on the disk of `path`."""
    return shutil.disk_usage(path).free


def _read(path: Path) -> dict | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _told(holder: str) -> str:
    try:
        note = json.loads(holder)
        since = time.strftime("%H:%M on %d %B", time.localtime(note["since"]))
        process = f"process {note['pid']} on {note['host']}"
        return f"{note['who']} {note['doing']} since {since} ({process}); try again when that is done"
    except (ValueError, KeyError, TypeError):
        return "somebody else grades in this course; try again when that is done"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return f"user {os.getuid()}"


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (ValueError, PermissionError, OverflowError):
        return True
    return True
