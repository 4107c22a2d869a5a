"""Copies what a student handed in from a folder to which the student may still be writing.

Between a look at a path and its copy, whoever owns the folder can put a link there. So nothing is reached by its path:
folders and files are opened in the folder that is open already, without following links, looked at while they are
open, and what was looked at is what is copied. The time of the last change is that of the same open files.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from autograder.grading.submission import reading

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FOLDER_MODE, FILE_MODE = 0o755, 0o644  # not the student's: nothing can be removed from a folder that is shut


def nobody_elses(path: Path, about: os.stat_result) -> bool:
    """False for every file: it may be anybody's."""
    return False


@dataclass
class Copying:
    """One walk through a submission: what is ordinary is copied to `target`, or only looked at where that is None.

    foreign: of a path and its open file, whether it is somebody else's. skip: names that are not wanted. Afterwards,
    changed: the last change (ctime) of all that was looked at; left_out: path -> why it was not copied.
    """

    target: Path | None = None
    foreign: Callable[[Path, os.stat_result], bool] = nobody_elses
    skip: Callable[[str], bool] = lambda name: False
    most_bytes: int = reading.MAX_BYTES * reading.MAX_FILES
    changed: float = 0.0
    left_out: dict[Path, str] = field(default_factory=dict)
    seen: int = 0

    def walk(self, source: Path, owner: int | None = None) -> Copying:
        """Go through `source`, and return this. owner: whose folder it must be. Raises OSError where it is a link, no
        folder, or another one's."""
        handle = os.open(source, _OPEN | os.O_DIRECTORY)
        try:
            if owner is not None and os.fstat(handle).st_uid != owner:
                raise PermissionError(f"{source} has changed its owner")
            self._folder(handle, source, self.target, 0)
        finally:
            os.close(handle)
        return self

    def _folder(self, handle: int, path: Path, target: Path | None, depth: int) -> None:
        """Copies the files of an open folder, notebooks first, and then what is below it."""
        self._note(os.fstat(handle))
        if target is not None:
            target.mkdir(FOLDER_MODE)
        folders = []
        for name in sorted(os.listdir(handle), key=lambda name: (not name.endswith(".ipynb"), name)):
            if self.skip(name):
                continue
            if self.seen >= reading.MAX_FILES:
                self.left_out[path / name] = f"comes after {reading.MAX_FILES} others, as all that follows it"
                break
            self.seen += 1
            with suppress(FileNotFoundError):  # gone meanwhile
                about = os.stat(name, dir_fd=handle, follow_symlinks=False)
                self._note(about)
                if stat.S_ISDIR(about.st_mode):
                    folders.append(name)
                elif why := self._file(name, handle, about, path / name, target):
                    self.left_out[path / name] = why
        for name in folders:
            self._below(name, handle, path / name, target and target / name, depth + 1)
        self._note(os.fstat(handle))

    def _below(self, name: str, folder: int, path: Path, target: Path | None, depth: int) -> None:
        if depth > reading.MAX_DEPTH:
            self.left_out[path] = "lies too deep"
            return
        try:
            handle = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=folder)
        except OSError:
            self.left_out[path] = "is a link, or may not be read"
            return
        try:
            self._folder(handle, path, target, depth)
        finally:
            os.close(handle)

    def _file(self, name: str, folder: int, seen: os.stat_result, path: Path, target: Path | None) -> str:
        """Copies a file; returns why not, or ""."""
        if not stat.S_ISREG(seen.st_mode):
            return "is a link, or no ordinary file"
        if target is None:
            return ""
        try:
            handle = os.open(name, _OPEN, dir_fd=folder)
        except OSError:
            return "is a link, or may not be read"
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(handle)
            self._note(about)
            limit = min(reading.MAX_BYTES, self.most_bytes)
            if not stat.S_ISREG(about.st_mode):
                return "is no ordinary file"
            if about.st_size > limit:
                return "is too large"
            if self.foreign(path, about):
                return "belongs to somebody else, or has another name"
            content = file.read(limit + 1)
            self._note(os.fstat(handle))
        if len(content) > limit:
            return "is too large"
        self.most_bytes -= len(content)
        with os.fdopen(os.open(target / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as copy:
            copy.write(content)
        os.utime(target / name, ns=(about.st_atime_ns, about.st_mtime_ns))
        return ""

    def _note(self, about: os.stat_result) -> None:
        self.changed = max(self.changed, about.st_ctime)


def only_of(owner: int) -> Callable[[Path, os.stat_result], bool]:
    """A test of open files: True for one that is another user's, or that has a second name, in whoever's folder."""
    return lambda path, about: about.st_uid != owner or about.st_nlink > 1


def remove(folder: Path) -> None:
    """Remove a folder of our own, whatever the modes of the folders in it."""
    _open_up(folder)
    for place, folders, _ in os.walk(folder):
        for name in folders:
            _open_up(Path(place, name))
    shutil.rmtree(folder)


def _open_up(folder: Path) -> None:
    if not folder.is_symlink() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        with suppress(OSError):
            folder.chmod(0o700)
