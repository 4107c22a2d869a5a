"""The bank: right and wrong answers for every exercise, each saying which verdict it must get.

The answers of an exercise lie in one file (`autograder.answers`), which records, too, which levels each wrong one
passes under the public key. Under any other key it must pass the same ones: a grade does not depend on the key. That
takes the whole way through the cases; `until_named` goes only as far as it takes to know what an answer is called.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.answers import BANK, Entry, exercises, file_of, of_exercise, with_levels
from autograder.exercise import PUBLIC_KEY, Exercise
from autograder.judging.judge import Runners, chunks_of_file, judge_with, with_references
from autograder.registry import all_exercises, find, is_left_out
from autograder.verdict import Result
from labkit.cells.slicing import bound_names
from labkit.launch.launcher import Launcher, Limits

_WINDOWS = 2  # nobody's points hang on it: whether a Horovod answer of the bank stands still is known after two seconds


@dataclass(frozen=True, kw_only=True)
class BankAnswer(Entry):
    """An entry of the bank with the exercise that it answers."""

    exercise: Exercise

    @property
    def file(self) -> str:
        """The path that `autograder bank --write` gives it: "UNIT/EXERCISE/right_flat.py"."""
        return f"{self.exercise.unit}/{self.exercise.function}/{self.name}.py"


@dataclass(frozen=True)
class Tried:
    """An answer with what the judge said of it."""

    answer: BankAnswer
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
        """True if it passes other levels than are recorded: the grade hangs on the key, or the exercise has changed."""
        return self.answer.levels is not None and self.levels != self.answer.levels[: len(self.levels)]

    @property
    def as_declared(self) -> bool:
        """True if verdict and diagnosis are those of its first line."""
        if self.answer.right:
            return self.accepted
        named = self.result.verdict == self.answer.verdict and self.result.diagnosis == self.answer.diagnosis
        return named and not self.other_levels


def answers(folder: Path = BANK, unit: str | None = None, exercise: str | None = None) -> Iterator[BankAnswer]:
    """The bank's answers, by unit, exercise and name. Raises BadBank."""
    for unit_name, function in exercises(folder):
        asked = unit in (None, unit_name, unit_name.split("_")[0]) and exercise in (None, function)
        if asked and not is_left_out(unit_name, function):
            for entry in of_exercise(folder, unit_name, function):
                yield BankAnswer(**vars(entry), exercise=find(function, unit_name))


def names(folder: Path = BANK, unit: str | None = None) -> list[str]:
    """The exercises of that unit that have answers; where it has none, the units that have some. Raises BadBank."""
    functions = {answer.exercise.function for answer in answers(folder, unit or "")}
    return sorted(functions or {answer.exercise.unit for answer in answers(folder)})


def record(tried: list[Tried], folder: Path = BANK) -> None:
    """Write down which levels each wrong answer has passed, where the answers of an exercise have one file."""
    passed: dict[Exercise, dict[str, tuple[bool, ...]]] = {}
    for one in tried:
        passed.setdefault(one.answer.exercise, {})[one.answer.name] = one.levels
    for exercise, levels in passed.items():
        file = file_of(folder, exercise.unit, exercise.function)
        if file.is_file():
            with_levels(file, levels)


def try_file(
    exercise: Exercise, path: Path, launcher: Launcher, key: str = PUBLIC_KEY, limits: Limits | None = None
) -> Result:
    """Judge one candidate file as a submission would be; functions of earlier exercises that it uses but does not
    define are ours."""
    return try_source(exercise, path.read_text(), launcher, key, limits, path.name)


def try_source(
    exercise: Exercise,
    source: str,
    launcher: Launcher,
    key: str = PUBLIC_KEY,
    limits: Limits | None = None,
    name: str = "answer.py",
) -> Result:
    """The same for the text of such a file, which is called `name` where it cannot be read."""
    with Runners(launcher, limits) as runners:
        return _try(runners, exercise, source, name, key)


def _try(runners: Runners, exercise: Exercise, source: str, name: str, key: str, until_named: bool = False) -> Result:
    try:
        chunks = chunks_of_file(source, exercise.function, name)
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
        said = getattr(error, "msg", error)  # a SyntaxError as text names file and line once more
        return judge_with(runners, exercise, None, key=key, note=f"{name} is no valid Python{line}: {said}")
    if chunks is not None:
        chunks = with_references(chunks, [find(name) for name in exercise.uses], bound_names(source))
    return judge_with(runners, exercise, chunks, key=key, until_named=until_named)


def run(
    launcher: Launcher,
    folder: Path = BANK,
    unit: str | None = None,
    exercise: str | None = None,
    key: str = PUBLIC_KEY,
    said: Callable[[Tried], None] = lambda tried: None,
    until_named: bool = False,
    every: int = 1,
    every_right: int = 1,
) -> list[Tried]:
    """Try every answer, but those to exercises that need what this Python does not have (`left_out`).

    every, every_right: of an exercise's wrong answers, and of its right ones, only the first and every so many-th
    after it.
    until_named: judge a wrong answer only until its verdict and its diagnosis are certain, and compare the levels
    judged until then; ranks that one answer has left in order serve the next. One that is not as declared then is
    judged from start to end, in ranks of its own, before that is said.
    """
    tried, tries = [], list(_some(answers(folder, unit, exercise), every, every_right))
    shared = [answer.exercise for answer in tries] if until_named and launcher.isolation is None else []
    with (
        Runners(launcher, windows=_WINDOWS) as runners,
        runners.student(shared, trusted=True) if shared else contextlib.nullcontext(),
    ):
        for answer in tries:
            runners.next_candidate()
            name = f"{answer.name}.py"
            one = Tried(answer, _try(runners, answer.exercise, answer.source, name, key, until_named))
            if until_named and not one.as_declared:
                one = Tried(answer, try_source(answer.exercise, answer.source, launcher, key, name=name))
            tried.append(one)
            said(one)
    return tried


def _some(entries: Iterator[BankAnswer], every: int, every_right: int = 1) -> Iterator[BankAnswer]:
    """The answers to be tried: of each exercise's wrong ones, and of its right ones, the first and every so many-th
    after it. None to an exercise that cannot be judged here."""
    seen = Counter()
    for answer in entries:
        if not answer.exercise.lacking:
            number = seen[answer.exercise, answer.right]
            seen[answer.exercise, answer.right] += 1
            if number % (every_right if answer.right else every) == 0:
                yield answer


def left_out(folder: Path = BANK, unit: str | None = None, exercise: str | None = None) -> str:
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
                "file": t.answer.file,
                "declared": [t.answer.verdict, t.answer.diagnosis],
                "got": [t.result.verdict, t.result.diagnosis],
                "levels": f"passed {_flags(t.levels)}, recorded are {_flags(t.answer.levels)}"
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


def missing(folder: Path = BANK) -> list[str]:
    """Exercises with fewer than two right or five wrong answers, and wrong answers whose levels nobody has recorded."""
    short = [
        f"{a.file}: run `autograder bank {a.exercise.unit}/{a.exercise.function} --record`"
        for a in answers(folder)
        if not a.right and (a.levels is None or len(a.levels) != len(a.exercise.levels))
    ]
    for e in all_exercises():
        entries = of_exercise(folder, e.unit, e.function)
        right = sum(entry.right for entry in entries)
        wrong = len(entries) - right
        if right < 2 or wrong < 5:
            short.append(f"{e.unit}/{e.function}: {right} right, {wrong} wrong")
    return short
