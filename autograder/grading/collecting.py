"""`nbgrader collect`, with care: what students put into the exchange is copied as it lies there, and no link in it is
followed.

nbgrader copies what a link leads to, with the rights of whoever collects: a key, a solution, another student's answer
would arrive in submitted/ as an ordinary file of the student who made the link. Here links stay out, and so do pipes,
devices and whatever is too large; a submission that is a link itself is not collected at all.

When it was handed in is written in the folder's name and in its timestamp.txt, and both are the student's to write. The
time at which a file was last changed (ctime) is the system's alone: what lies in the exchange was not complete before
it. Where the two differ by more than a minute the later one counts, and the report says so.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nbgrader.exchange.default.collect import ExchangeCollect

from autograder.grading import course_files
from autograder.grading.store import Store
from autograder.grading.submission import reading

NEAR = timedelta(minutes=1)  # how long copying may take: the time that is said is that of its beginning


class Collect(ExchangeCollect):
    """nbgrader's own, but for the copying and the time."""

    def _path_to_record(self, path: str) -> dict:
        """Reads who handed in, and when: not before the last change."""
        record = super()._path_to_record(path)
        said = [record["timestamp"], course_files.timestamp_in(Path(path), self.log)]
        record["said"] = max(time for time in said if time is not None)
        record["changed"] = last_changed(Path(path))
        differ = abs(record["changed"] - record["said"]) > NEAR
        record["timestamp"] = max(record["changed"], record["said"]) if differ else record["said"]
        return record

    def init_src(self) -> None:
        """Find what is to be collected, and leave out submissions that are links or no folders."""
        super().init_src()
        taken = []
        for record in self.src_records:
            path = os.path.join(self.inbound_path, record["filename"])
            if os.path.islink(path) or not os.path.isdir(path):
                self.log.error("%s is a link, or no folder: it was not collected; cheating attempt?", path)
            else:
                taken.append(record)
        self.src_records = taken

    def do_copy(self, src: str, dest: str, log: bool | None = None) -> None:
        """Copy a submission without what `autograder.grading.submission.reading.odd_files` finds in it: first to a
        folder of our own, where nobody can exchange a file for a link any more, and from there as nbgrader does
        it."""
        odd = {str(path) for path in reading.odd_files(Path(src))}
        for path in sorted(odd):
            self.log.warning("%s is a link, no ordinary file, or too large: it was left out", path)

        def left_out(folder: str, names: list[str]) -> set[str]:
            return {name for name in names if os.path.join(folder, name) in odd}

        with tempfile.TemporaryDirectory(prefix=".collecting-", dir=os.path.dirname(dest)) as place:
            copy = os.path.join(place, "submission")
            try:
                shutil.copytree(src, copy, symlinks=True, ignore=left_out)
                for path in reading.odd_files(Path(copy)):  # what has become a link since it was looked at
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                super().do_copy(copy, dest, log)
                self._write_time(src, dest)
            except (OSError, shutil.Error, RuntimeError) as error:
                # One submission does not keep the others from being collected.
                self.log.error("%s could not be collected: %s", src, error)
                shutil.rmtree(dest, ignore_errors=True)

    def _write_time(self, src: str, dest: str) -> None:
        """Write when a collected submission was handed in into its timestamp.txt, and what the report is to say."""
        record = next(one for one in self.src_records if one["filename"] == os.path.basename(src))
        place = Path(dest, "timestamp.txt")
        place.unlink(missing_ok=True)
        place.write_text(f"{record['timestamp'].strftime('%Y-%m-%d %H:%M:%S.%f')} UTC")
        note = None
        if abs(record["changed"] - record["said"]) > NEAR:
            said, changed = (f"{record[key]:%Y-%m-%d %H:%M}" for key in ("said", "changed"))
            note = f"It says that it was handed in on {said} UTC, and in the exchange it last changed on {changed} UTC"
            self.log.warning("%s: %s", src, note)
        Store(self.coursedir.root).set_time_note(self.coursedir.assignment_id, record["username"], note)


def last_changed(folder: Path) -> datetime:
    """The last time, UTC, at which a folder or anything in it was changed or put there: no user can set that."""
    return datetime.fromtimestamp(max(_changes(folder)), UTC).replace(tzinfo=None)


def _changes(folder: Path) -> Iterator[float]:
    yield folder.lstat().st_ctime
    seen = 0
    for place, folders, names in os.walk(folder) if not folder.is_symlink() else ():
        for name in (*folders, *names):
            try:
                yield os.lstat(os.path.join(place, name)).st_ctime
            except OSError:  # gone meanwhile, or a name longer than a path may be
                continue
            seen += 1
            if seen > reading.MAX_FILES:
                return
