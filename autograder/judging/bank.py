"""The bank: right and wrong answers for every exercise, each saying in its first line which verdict it must get.

Beside the answers of an exercise, `levels.txt` records which levels each wrong one passes under the public key. Under
any other key it must pass the same ones: a grade does not depend on the key. That takes the whole way through the
cases; `until_named` goes only as far as it takes to know what an answer is called.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.exercise import PUBLIC_KEY, Exercise
from autograder.judging.judge import Runners, chunks_of_file, judge_with, with_references
from autograder.registry import all_exercises, find
from autograder.verdict import Result
from labkit.cells.slicing import bound_names
from labkit.launch.launcher import Launcher, Limits

_FIRST_LINE = re.compile(r"#\s*verdict:\s*(\w+)(?:\s*,\s*diagnosis:\s*(\w+))?\s*$")
LEVELS = "levels.txt"
_WINDOWS = 2  # nobody's points hang on it: whether a Horovod answer of the bank stands still is known after two seconds
FOLDER = Path(__file__).resolve().parents[2] / "tests" / "bank"


@dataclass(frozen=True)
class Answer:
    """One file of the bank: `tests/bank/UNIT/EXERCISE/right_*.py` or `wrong_*.py`."""

    exercise: Exercise
    path: Path
    verdict: str
    diagnosis: str
    recorded: tuple[bool, ...] | None = None  # which levels it passes; None: nobody has recorded it yet

    @property
    def right(self) -> bool:
        """True if its name says that it is a right answer."""
        return self.path.name.startswith("right_")


@dataclass(frozen=True)
class Tried:
    """An answer with what the judge said of it."""

    answer: Answer
    result: Result

    @property
    def accepted(self) -> bool:
        """True if the judge has passed it."""
        return self.result.verdict == "passed"

    @property
    def levels(self) -> tuple[bool, ...]:
        """For each level that was judged, True if the answer has passed it."""
        return tuple(level.verdict == "passed" for level in self.result.levels)

    @property
    def other_levels(self) -> bool:
        """True if it passes other levels than `levels.txt` records: the grade depends on the key, or the exercise has
        changed."""
        return self.answer.recorded is not None and self.levels != self.answer.recorded[: len(self.levels)]

    @property
    def as_declared(self) -> bool:
        """True if verdict and diagnosis are those of its first line."""
        if self.answer.right:
            return self.accepted
        named = self.result.verdict == self.answer.verdict and self.result.diagnosis == self.answer.diagnosis
        return named and not self.other_levels


class BadBank(ValueError):
    """A file of the bank that does not say what it must get, or lies where no exercise is."""


def answers(folder: Path = FOLDER, unit: str | None = None, exercise: str | None = None) -> Iterator[Answer]:
    """The bank's answers, by unit, exercise and name. Raises BadBank."""
    for path in sorted(folder.glob("*/*/*.py")):
        unit_name, function = path.parts[-3:-1]
        if unit not in (None, unit_name, unit_name.split("_")[0]) or exercise not in (None, function):
            continue
        match = _FIRST_LINE.match(path.read_text().split("\n", 1)[0])
        if match is None or not path.name.startswith(("right_", "wrong_")):
            raise BadBank(
                f"{path}: call it right_*.py or wrong_*.py and begin it with '# verdict: ...[, diagnosis: ...]'"
            )
        verdict, diagnosis = match.group(1), match.group(2) or ""
        if path.name.startswith("right_") != (verdict == "passed") or (verdict != "passed" and not diagnosis):
            raise BadBank(f"{path}: a right answer must pass, a wrong one must name its verdict and diagnosis")
        yield Answer(find(function, unit_name), path, verdict, diagnosis, recorded_levels(path.parent).get(path.name))


def names(folder: Path = FOLDER, unit: str | None = None) -> list[str]:
    """The exercises of that unit that have answers; where it has none, the units that have some. Raises BadBank."""
    functions = {answer.exercise.function for answer in answers(folder, unit or "")}
    return sorted(functions or {answer.exercise.unit for answer in answers(folder)})


def recorded_levels(folder: Path) -> dict[str, tuple[bool, ...]]:
    """Name of a wrong answer -> which levels it passes, as the folder's `levels.txt` has it: "wrong_name.py 1 0"."""
    path = folder / LEVELS
    lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return {name: tuple(flag == "1" for flag in flags) for name, *flags in lines}


def record(tried: list[Tried]) -> None:
    """Write down which levels each wrong answer has passed; answers that are gone lose their line."""
    for folder in sorted({t.answer.path.parent for t in tried}):
        known = recorded_levels(folder) | {
            t.answer.path.name: t.levels for t in tried if t.answer.path.parent == folder
        }
        lines = [
            f"{name} {' '.join(str(int(flag)) for flag in known[name])}\n"
            for name in sorted(known)
            if name.startswith("wrong_") and (folder / name).exists()
        ]
        (folder / LEVELS).write_text("".join(lines))


def try_file(
    exercise: Exercise, path: Path, launcher: Launcher, key: str = PUBLIC_KEY, limits: Limits | None = None
) -> Result:
    """Judge one candidate file as a submission would be; functions of earlier exercises that it uses but does not
    define are ours."""
    with Runners(launcher, limits) as runners:
        return _try(runners, exercise, path, key)


def _try(runners: Runners, exercise: Exercise, path: Path, key: str, until_named: bool = False) -> Result:
    source = path.read_text()
    try:
        chunks = chunks_of_file(source, exercise.function, path.name)
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
        said = getattr(error, "msg", error)  # a SyntaxError as text names file and line once more
        return judge_with(runners, exercise, None, key=key, note=f"{path.name} is no valid Python{line}: {said}")
    if chunks is not None:
        chunks = with_references(chunks, [find(name) for name in exercise.uses], bound_names(source))
    return judge_with(runners, exercise, chunks, key=key, until_named=until_named)


def run(
    launcher: Launcher,
    folder: Path = FOLDER,
    unit: str | None = None,
    exercise: str | None = None,
    key: str = PUBLIC_KEY,
    said: Callable[[Tried], None] = lambda tried: None,
    until_named: bool = False,
) -> list[Tried]:
    """Try every answer, but those to exercises that need what this Python does not have (`left_out`).

    until_named: judge a wrong answer only until its verdict and its diagnosis are certain, and compare the levels
    judged until then; ranks that one answer has left in order serve the next. One that is not as declared then is
    judged from start to end, in ranks of its own, before that is said.
    """
    tried, tries = [], [answer for answer in answers(folder, unit, exercise) if not answer.exercise.lacking]
    shared = [answer.exercise for answer in tries] if until_named and launcher.isolation is None else []
    with (
        Runners(launcher, windows=_WINDOWS) as runners,
        runners.student(shared) if shared else contextlib.nullcontext(),
    ):
        for answer in tries:
            runners.next_candidate()
            one = Tried(answer, _try(runners, answer.exercise, answer.path, key, until_named))
            if until_named and not one.as_declared:
                one = Tried(answer, try_file(answer.exercise, answer.path, launcher, key))
            tried.append(one)
            said(one)
    return tried


def left_out(folder: Path = FOLDER, unit: str | None = None, exercise: str | None = None) -> str:
    """The sentence about the answers that `run` does not try here; "" where it tries all."""
    out = [answer.exercise for answer in answers(folder, unit, exercise) if answer.exercise.lacking]
    sentences = dict.fromkeys(one.lacking for one in out)
    told = []
    for sentence in sentences:
        functions = [one.function for one in out if one.lacking == sentence]
        told.append(f"{len(functions)} answers were not tried ({', '.join(sorted(set(functions)))}). {sentence}")
    return "\n".join(told)


def summary(tried: list[Tried]) -> dict:
    """The counts of the answers tried, and those that fell short."""
    right = [t for t in tried if t.answer.right]
    wrong = [t for t in tried if not t.answer.right]
    return {
        "exercises": len({(t.answer.exercise.unit, t.answer.exercise.function) for t in tried}),
        "right": len(right),
        "right_accepted": sum(t.accepted for t in right),
        "wrong": len(wrong),
        "wrong_caught": sum(not t.accepted for t in wrong),
        "wrong_named": sum(t.as_declared for t in wrong),
        "short": [
            {
                "file": "/".join(t.answer.path.parts[-3:]),
                "declared": [t.answer.verdict, t.answer.diagnosis],
                "got": [t.result.verdict, t.result.diagnosis],
                "levels": f"passed {_flags(t.levels)}, recorded are {_flags(t.answer.recorded)}"
                if t.other_levels
                else "",
                "hint": t.result.hint,
            }
            for t in tried
            if not t.as_declared
        ],
    }


def _flags(levels: tuple[bool, ...]) -> str:
    return " ".join(str(int(flag)) for flag in levels)


def missing(folder: Path = FOLDER) -> list[str]:
    """Exercises with fewer than two right or five wrong answers, and wrong answers whose levels nobody has recorded."""
    short = [
        f"{'/'.join(a.path.parts[-3:])}: run `autograder bank {a.exercise.unit}/{a.exercise.function} --record`"
        for a in answers(folder)
        if not a.right and (a.recorded is None or len(a.recorded) != len(a.exercise.levels))
    ]
    for e in all_exercises():
        place = folder / e.unit / e.function
        right, wrong = len(list(place.glob("right_*.py"))), len(list(place.glob("wrong_*.py")))
        if right < 2 or wrong < 5:
            short.append(f"{e.unit}/{e.function}: {right} right, {wrong} wrong")
    return short
