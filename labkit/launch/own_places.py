"""Folders of their own for processes that stand for ranks on one machine: no file that one of them writes reaches
another."""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass

from labkit.launch import landlock

ROOTS = ("/tmp", "/dev/shm")
_private = False


def have_private_roots() -> None:
    """From here on, in this process and its children: nobody else writes into ROOTS."""
    global _private
    _private = True


@dataclass(frozen=True)
class _Folder:
    """A folder as it was before the first rank. kept: what was in there."""

    path: str
    kept: frozenset[str]
    mode: int
    times: tuple[int, int]


class OwnPlaces:
    """The places of the ranks' processes. In a jail, where ROOTS are the case's own, what a rank has written there is
    gone before the next one goes on. Elsewhere a rank is held to its folder, where the kernel can do that."""

    def __init__(self) -> None:
        self._base = tempfile.mkdtemp(prefix="ranks-")
        self._held = not _private and landlock.version() > 0
        roots = dict.fromkeys([*ROOTS, tempfile.gettempdir()] if _private else [])
        self._folders = [_as_it_is(path) for path in [*roots, self._base] if os.path.isdir(path)]

    def enter(self, rank: int) -> None:
        """For the process of a rank, before the first of its calls."""
        self.stay(rank)
        if self._held:
            landlock.shut_in(self._of(rank))

    def stay(self, rank: int) -> None:
        """For the process of a rank, before each call: its folder is there, and is where it works."""
        os.environ["TMPDIR"] = tempfile.tempdir = self._of(rank)
        with contextlib.suppress(OSError):
            os.makedirs(self._of(rank), exist_ok=True)
            os.chdir(self._of(rank))

    def clear(self) -> None:
        """Remove what the rank before has written, where others could read it."""
        for folder in self._folders if not self._held else []:
            _put_back(folder)

    def end(self) -> None:
        """Remove what is left."""
        _remove(self._base)

    def _of(self, rank: int) -> str:
        return os.path.join(self._base, f"rank-{rank}")


def _as_it_is(path: str) -> _Folder:
    about = os.stat(path)
    return _Folder(path, frozenset(os.listdir(path)), about.st_mode & 0o7777, (about.st_atime_ns, about.st_mtime_ns))


def _put_back(folder: _Folder) -> None:
    """A folder holds and says what it did before."""
    for name in _listed(folder.path):
        if name not in folder.kept:
            _remove(os.path.join(folder.path, name))
    with contextlib.suppress(OSError):
        for name in os.listxattr(folder.path):
            os.removexattr(folder.path, name)
    with contextlib.suppress(OSError):  # of another user: nobody here could have changed them
        os.chmod(folder.path, folder.mode)
        os.utime(folder.path, ns=folder.times)


def _listed(path: str) -> list[str]:
    with contextlib.suppress(OSError):  # its owner may have shut it
        os.chmod(path, os.stat(path).st_mode | 0o700)
    try:
        return os.listdir(path)
    except OSError:
        return []


def _remove(path: str) -> None:
    if os.path.islink(path) or not os.path.isdir(path):
        with contextlib.suppress(OSError):
            os.unlink(path)
        return
    for name in _listed(path):
        with contextlib.suppress(RecursionError):
            _remove(os.path.join(path, name))
    with contextlib.suppress(OSError):
        os.rmdir(path)
