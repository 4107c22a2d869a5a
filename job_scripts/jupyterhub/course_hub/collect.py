"""nbgrader's `collect`, for an exchange that students can write to with more than `nbgrader submit`.

Who handed in is who owns the files, not what the folder is called; and what is copied are files that this owner has
written: no link to somebody else's work, which the grader could read and which would come back in the feedback. When
it was handed in is what `autograder.grading.collecting` finds, not what a student's own file says.
"""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

from nbgrader.utils import ignore_patterns

from autograder.grading.collecting import Collect


class OwnWorkOnly(Collect):
    """Leaves out what was handed in under another student's name, and every file that is not its owner's own."""

    def _path_to_record(self, path):
        record = super()._path_to_record(path)
        record["own"] = owner(path) == record["username"]
        if not record["own"]:
            self.log.error("%s was handed in by %s under another name: left out", record["filename"], owner(path))
        return record

    def _sort_by_timestamp(self, records):
        return super()._sort_by_timestamp([record for record in records if record["own"]] or records)

    def copy_files(self):
        self.src_records = [record for record in self.src_records if record["own"]]
        super().copy_files()

    def do_copy(self, src, dest, log=None):
        ignored = ignore_patterns(
            exclude=self.coursedir.ignore,
            include=self.coursedir.include,
            max_file_size=self.coursedir.max_file_size,
            log=self.log,
        )
        for path in copy_owned(Path(src), Path(dest), ignored, 1000 * self.coursedir.max_dir_size):
            self.log.warning("%s is a link, or not its owner's, or too much: left out", path)
        self._write_time(src, dest)


def owner(path: str | Path) -> str:
    """The account that owns a file or folder; the number where there is none."""
    uid = os.lstat(path).st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def copy_owned(source: Path, target: Path, ignored, most_bytes: int) -> list[Path]:
    """Copy the regular files below `source` that belong to the owner of `source`, and return the others.

    Every file is opened without following links and looked at when it is open: it may be exchanged at any moment.
    ignored(folder, names) -> names to leave out.
    """
    uid, left_out, copied = os.lstat(source).st_uid, [], 0
    for folder, folders, files, handle in os.fwalk(source, follow_symlinks=False):
        skipped = set(ignored(folder, [*folders, *files]))
        folders[:] = [name for name in folders if name not in skipped]
        where = target / Path(folder).relative_to(source)
        where.mkdir(parents=True, exist_ok=True)
        for name in files:
            if name in skipped:
                continue
            content = _read_owned(name, handle, uid, most_bytes - copied)
            if content is None:
                left_out.append(Path(folder) / name)
            else:
                (where / name).write_bytes(content)
                copied += len(content)
        left_out += [Path(folder) / name for name in folders if os.path.islink(os.path.join(folder, name))]
    return left_out


def _read_owned(name: str, folder: int, uid: int, most_bytes: int) -> bytes | None:
    """A file's content; None where it is none of this user's regular files, or too large."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != uid or about.st_size > most_bytes:
            return None
        return file.read(most_bytes)
