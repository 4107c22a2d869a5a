"""`nbgrader collect`, with care: what students put into the exchange is copied as it lies there, and no link in it is
followed.

nbgrader copies what a link leads to, with the rights of whoever collects: a key, a solution, another student's answer
would arrive in submitted/ as an ordinary file of the student who made the link. Here links stay out, and so do pipes,
devices and whatever is too large; a submission that is a link itself is not collected at all.

When it was handed in is written in the folder's name and in its timestamp.txt, and both are the student's to write. The
time at which a file was last changed (ctime) is the system's alone: what lies in the exchange was not complete before
it. Where the two differ by more than a minute the later one counts, and the report says so. What is copied is what was
looked at (`autograder.grading.copying`), and one student's folder does not keep the others' from being collected.
"""

from __future__ import annotations

import os
import pwd
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nbgrader.exchange.default.collect import ExchangeCollect

from autograder.grading import copying, course_files
from autograder.grading.store import Store

NEAR = timedelta(minutes=1)  # how long copying may take: the time that is said is that of its beginning
MAX_SAID = 20  # lines on what was left out of one submission


class Collect(ExchangeCollect):
    """nbgrader's own, but for who handed in, the copying and the time."""

    def _path_to_record(self, path: str) -> dict:
        """Reads who handed in, and when: not before the last change. A record has a `refused` where it is not to be
        collected."""
        name = os.path.basename(path)
        try:
            record = super()._path_to_record(path)
            if not record["username"]:
                raise ValueError("nobody's name")
            record["uid"] = os.lstat(path).st_uid
            said = [record["timestamp"], course_files.timestamp_in(Path(path), self.log)]
            record["said"] = max(time for time in said if time is not None)
            _settle(record, last_changed(Path(path)))
            strange = "" if course_files.is_student(record["username"]) else course_files.STRANGE
            record["refused"] = strange or self.not_the_students(record)
        except Exception as error:  # whatever a name or a folder is: the others are collected
            why = f"its name or its folder cannot be read ({type(error).__name__})"
            record = {"username": name, "filename": name, "timestamp": datetime.min, "refused": why}
        if record["refused"]:
            self.log.error("%r is left out: %s", name, record["refused"])
        return record

    def not_the_students(self, record: dict) -> str:
        """Says why a submission cannot be that of the student it is called after, or "".

        Whoever is who collects could write to submitted/ as well; so it is where all users have one account.
        """
        name = account(record["uid"])
        if not self.check_owner or record["uid"] == os.getuid() or name == record["username"]:
            return ""
        return (
            f"it was handed in by {name}, under another name. If students' names are not those of their accounts, "
            "say c.ExchangeCollect.check_owner = False in nbgrader_config.py"
        )

    def _sort_by_timestamp(self, records: list[dict]) -> list[dict]:
        return super()._sort_by_timestamp([record for record in records if not record["refused"]] or records)

    def init_src(self) -> None:
        """Find what is to be collected, and leave out what is not the student's."""
        super().init_src()
        self.src_records = [record for record in self.src_records if not record["refused"]]

    def copy_files(self) -> None:
        """Copy the submissions, each for itself: where one fails a line says so, and the next one is collected."""
        if not self.src_records:
            super().copy_files()  # says that there are none
        for record in self.src_records:
            path = os.path.join(self.inbound_path, record["filename"])
            try:
                self._collect(record, path)
            except Exception as error:  # one folder must not keep a class from being collected
                self.log.error("%s could not be collected: %s", path, error)

    def _collect(self, record: dict, path: str) -> None:
        """Copies a submission where there is none of that student yet, or an update was asked for."""
        student, assignment = record["username"], self.coursedir.assignment_id
        dest = self.coursedir.format_path(self.coursedir.submitted_directory, student, assignment)
        there = os.path.isdir(dest)
        if there:
            time = self.coursedir.get_existing_timestamp(dest)
            newer = self.update and (time is None or record["timestamp"] > time)
            if not newer and not (self.before_duedate and time != record["timestamp"]):
                what = "No newer submission to collect" if self.update else "Already there, use --update to update"
                self.log.info("%s: %s %s", what, student, assignment)
                return
        os.makedirs(os.path.dirname(dest), exist_ok=True)
        self.log.info("%s submission: %s %s", "Updating" if there else "Collecting", student, assignment)
        self.do_copy(path, dest)

    def do_copy(self, src: str, dest: str, log: bool | None = None) -> None:
        """Copy the student's ordinary files to a folder of our own, where nobody else writes, from there as nbgrader
        does it, and put the result in the place of what was collected before. Raises OSError, nbgrader's errors."""
        record = next(one for one in self.src_records if one["filename"] == os.path.basename(src))
        with tempfile.TemporaryDirectory(prefix=".collecting-", dir=os.path.dirname(dest)) as place:
            clean, ready = Path(place, "clean"), Path(place, "ready")
            most_bytes = 1000 * self.coursedir.max_dir_size
            copied = copying.Copying(clean, copying.only_of(record["uid"]), most_bytes=most_bytes)
            copied.walk(Path(src), record["uid"])
            for number, (path, why) in enumerate(copied.left_out.items()):
                if number < MAX_SAID:
                    self.log.warning("%s %s: it was left out", path, why)
            super().do_copy(str(clean), str(ready), log)
            _settle(record, max(record["changed"], _utc(copied.changed)))
            self._write_time(record, ready)
            if os.path.isdir(dest):
                copying.remove(Path(dest))
            os.rename(ready, dest)

    def _write_time(self, record: dict, folder: Path) -> None:
        """Write when a submission was handed in into its timestamp.txt, and what the report is to say."""
        place = folder / "timestamp.txt"
        place.unlink(missing_ok=True)
        place.write_text(f"{record['timestamp'].strftime('%Y-%m-%d %H:%M:%S.%f')} UTC")
        note = None
        if abs(record["changed"] - record["said"]) > NEAR:
            said, changed = (f"{record[key]:%Y-%m-%d %H:%M}" for key in ("said", "changed"))
            note = f"It says that it was handed in on {said} UTC, and in the exchange it last changed on {changed} UTC"
            self.log.warning("%s: %s", record["filename"], note)
        Store(self.coursedir.root).set_time_note(self.coursedir.assignment_id, record["username"], note)


def last_changed(folder: Path) -> datetime:
    """The last time, UTC, at which a folder or anything of it that would be copied was changed or put there: no user
    can set that."""
    return _utc(copying.Copying().walk(folder).changed)


def _utc(time: float) -> datetime:
    return datetime.fromtimestamp(time, UTC).replace(tzinfo=None)


def _settle(record: dict, changed: datetime) -> None:
    """Sets when a submission counts as handed in."""
    record["changed"] = changed
    differ = abs(changed - record["said"]) > NEAR
    record["timestamp"] = max(changed, record["said"]) if differ else record["said"]


def account(uid: int) -> str:
    """The name of an account; its number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
