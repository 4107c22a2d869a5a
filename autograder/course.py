"""A class: the instructor's course root, its private overlay and the keys the checks' values come from.

    ROOT/nbgrader_config.py  source/  release/  submitted/  autograded/  feedback/  gradebook.db    nbgrader's layout
    ROOT/overlay/exercises/unit_*.py          exercises of one's own; one that is named like a public module replaces it
    ROOT/overlay/solutions/NN_topic/topic.py  units of one's own; one that is named like a public unit replaces it
    ROOT/overlay/keys/NN_topic.key    the secret key of an assignment: 128 bits in hexadecimal, readable by its owner
    ROOT/overlay/extensions/NN_topic.csv      days by which students may hand it in later (`autograder extend`)
    ROOT/overlay/course.txt           the folder of the course that it is a class of
    ROOT/overlay/answers.txt          units, one a line, whose right answers students may see after they have passed
    ROOT/overlay/nonces/NN_topic.csv  the code each student was given with an assignment, where codes were given out

`make course-release DIR` makes all of it (tools/course_release.py).
"""

from __future__ import annotations

import csv
import hmac
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

# What stands in a student's notebook in place of a solution. By NotImplementedError a check recognises a function that
# was not written.
CODE_STUB = '# Your code here: replace the next line.\nraise NotImplementedError("write this function")'
TEXT_STUB = "*Write your answer here.*"
OVERLAY = "COURSE_OVERLAY"  # environment: the overlay whose exercises the registry adds to the public ones
_KEY = re.compile(r"[0-9a-f]{32}")


class BadKey(ValueError):
    """A key file that does not hold a key."""


class BadName(BadKey):
    """Raised for a name that no assignment can have, such as a path; it has no key."""


@dataclass(frozen=True)
class Course:
    """The course root of one class."""

    root: Path

    @property
    def overlay(self) -> Path:
        return self.root / "overlay"

    def key(self, assignment: str) -> str:
        """The assignment's secret key; drawn by the operating system when it is asked for the first time.

        Raises BadKey for a file that holds something else: grading with a mistyped key would look like grading with a
        good one.
        """
        path = self.key_file(assignment)
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_once(path, secrets.token_hex(16) + "\n")
        key = path.read_text(encoding="utf-8").strip()
        if not _KEY.fullmatch(key):
            raise BadKey(
                f"{path} should hold 32 hexadecimal digits: restore it from a copy, or remove it to draw a new key"
            )
        return key

    def made_for(self) -> str:
        """The folder of the course that the class was released from, "." for the engine's own; "" where nobody has
        written it down."""
        path = self.overlay / "course.txt"
        return path.read_text(encoding="utf-8").strip() if path.exists() else ""

    def answers_shown(self) -> list[str]:
        """The units of which students get other right answers, to be seen after their second pass: none, unless the
        instructor names them, say when the deadline is over."""
        path = self.overlay / "answers.txt"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [name for line in lines if (name := line.partition("#")[0].strip())]

    def nonce(self, assignment: str, student: str) -> str:
        """The code this student was given with the assignment; "" where no codes were given out, or none to this
        student.
        """
        return _read_pairs(self.nonce_file(assignment)).get(student, "")

    def give_nonces(self, assignment: str, students: Iterable[str]) -> dict[str, str]:
        """A code for each student, noted in `nonce_file`. It comes from the assignment's key, which it does not reveal,
        and from the student's name: whoever has had one gets the same one again.
        """
        path, key = self.nonce_file(assignment), self.key(assignment).encode()
        given = {name: hmac.new(key, f"nonce {name}".encode(), "sha256").hexdigest()[:12] for name in sorted(students)}
        _write_pairs(path, ("student", "nonce"), given)
        return given

    def extensions(self, assignment: str) -> dict[str, timedelta]:
        """Student -> how much later than the assignment's due date they may hand in; only those who may."""
        pairs = _read_pairs(self.extension_file(assignment))
        return {student: timedelta(days=float(days)) for student, days in pairs.items() if student != "student"}

    def extend(self, assignment: str, student: str, days: float) -> None:
        """Give a student `days` more than the others, in place of what was given before; 0 takes it back.

        It is noted here and not in the gradebook, which knows an extension only of work that has been handed in.
        """
        given = {name: f"{time / timedelta(days=1):g}" for name, time in self.extensions(assignment).items()}
        given = {**given, student: f"{days:g}"} if days else {name: d for name, d in given.items() if name != student}
        _write_pairs(self.extension_file(assignment), ("student", "days"), dict(sorted(given.items())))

    def extension_file(self, assignment: str) -> Path:
        self.key_file(assignment)  # the same names are allowed
        return self.overlay / "extensions" / f"{assignment}.csv"

    def nonce_file(self, assignment: str) -> Path:
        self.key_file(assignment)  # the same names are allowed
        return self.overlay / "nonces" / f"{assignment}.csv"

    def key_file(self, assignment: str) -> Path:
        if not re.fullmatch(r"\w[\w.-]*", assignment):
            raise BadName(f"{assignment!r} is no name of an assignment")
        return self.overlay / "keys" / f"{assignment}.key"


def _read_pairs(path: Path) -> dict[str, str]:
    """The two columns of a file, its head included; nothing where there is no file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row[0]: row[1] for row in csv.reader(file) if len(row) == 2}


def _write_pairs(path: Path, head: tuple[str, str], pairs: dict[str, str]) -> None:
    """Writes two columns under a head, whole or not at all, readable by their owner only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with part.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *pairs.items()])
    part.chmod(0o600)
    os.replace(part, path)


def overlay_exercises() -> list[Path]:
    """The modules that the overlay named in the environment adds, sorted by name."""
    folder = os.environ.get(OVERLAY)
    return sorted((Path(folder) / "exercises").glob("unit_*.py")) if folder else []


def _write_once(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all; what another process has written stays."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.link(part, path)
    except FileExistsError:
        pass
    finally:
        part.unlink()
