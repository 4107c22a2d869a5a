"""Right answers held against each other on drawn inputs, and inputs that tell a wrong answer from them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import hypothesis
import numpy as np

from autograder.case import Case, Tensor
from autograder.exercise import Exercise
from autograder.inputs.edges import edges_of_all
from autograder.inputs.strategies import added_cases, cases_of, draw
from autograder.judging.judge import Runners, chunks_of_file, with_references
from autograder.judging.trial import CandidateTrial
from autograder.registry import find
from autograder.verdict import CaseResult
from labkit.cells.slicing import Chunk, bound_names
from labkit.launch.launcher import Launcher

SHRINKING = 150  # tries at a smaller input


class Program(NamedTuple):
    """An answer: what it is called, and its source."""

    name: str
    source: str


@dataclass(frozen=True)
class Told:
    """A case on which answers differ, or one that tells a wrong answer from the right ones. said: name of an answer ->
    what the judge said of it."""

    case: Case
    said: dict[str, CaseResult]

    @property
    def refused(self) -> list[str]:
        """The answers that did not pass."""
        return [name for name, result in self.said.items() if result.verdict != "passed"]


@dataclass
class Agreement:
    """The drawn inputs (`cases`), and those that right answers refuse. differ: some passed and some did not, so the
    text is ambiguous, the reference wrong or an answer not right; impossible: no answer passed, so the input is none
    that the text allows."""

    cases: list[Case]
    differ: list[Told] = field(default_factory=list)
    impossible: list[Told] = field(default_factory=list)


def agreement(launcher: Launcher, exercise: Exercise, answers: Sequence[Program], count: int) -> Agreement:
    """Runs the right answers of an exercise on `count` drawn inputs; returns those that some of them refuse."""
    cases = draw(cases_of(exercise), count)
    said = {answer.name: judged(launcher, exercise, answer, cases) for answer in answers}
    found = Agreement(cases)
    for k, case in enumerate(cases):
        told = Told(case, {name: results[k] for name, results in said.items()})
        if told.refused:
            (found.impossible if len(told.refused) == len(said) else found.differ).append(told)
    return found


def telling(launcher: Launcher, exercise: Exercise, wrong: Program, right: Program, count: int) -> Told | None:
    """An input that `right` passes and `wrong` does not, as small as was found; None where `count` draws hold none."""
    added = added_cases(exercise)
    for strategy in [cases_of(exercise)] if added is None else [added, cases_of(exercise)]:
        for case in draw(strategy, count):
            if (told := _told(launcher, exercise, wrong, right, case)) is not None:
                return _smaller(launcher, exercise, wrong, right, strategy) or told
    return None


def judged(launcher: Launcher, exercise: Exercise, answer: Program, cases: Iterable[Case]) -> list[CaseResult]:
    """The results of one answer, one for each case. Raises SyntaxError, and ValueError where it does not define the
    function."""
    chunks, seed = _chunks(exercise, answer), zlib.crc32(f"{exercise.unit}/{exercise.function}".encode())
    results = []
    with Runners(launcher) as runners:
        runners.most = max((case.world_size for case in cases), default=1)
        for case in cases:
            results.append(CandidateTrial(runners, exercise, chunks, seed).run_until_sure(case))
    return results


def said_of(name: str, agreed: Agreement) -> str:
    """The outcome for an exercise as text: a summary line, and a paragraph for each input on which answers differ."""
    held = edges_of_all(agreed.cases)
    lines = [f"{name}: {len(agreed.cases)} inputs, {len(agreed.differ)} on which right answers differ, "
             f"{len(agreed.impossible)} that none accepts. Edges: {', '.join(held) or 'none'}"]  # fmt: skip
    for told in agreed.differ:
        refused = ", ".join(f"{answer} ({told.said[answer].diagnosis})" for answer in told.refused)
        lines += [f"  {shown(told.case)}", f"    refused: {refused}"]
    return "\n".join(lines)


def shown(case: Case) -> str:
    """A case in words: what an author needs to write it down."""
    known = ", ".join(f"{name}={_short(value)}" for name, value in case.known.items())
    return f"{case.level}: {case.world_size} ranks, {case.says}{f' ({known})' if known else ''}"


def _short(value: object) -> str:
    value = value.values if isinstance(value, Tensor) else value
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 400 else f"{text[:400]} ..."


def _told(launcher: Launcher, exercise: Exercise, wrong: Program, right: Program, case: Case) -> Told | None:
    (of_wrong,) = judged(launcher, exercise, wrong, [case])
    if of_wrong.verdict == "passed":
        return None
    (of_right,) = judged(launcher, exercise, right, [case])
    return Told(case, {wrong.name: of_wrong, right.name: of_right}) if of_right.verdict == "passed" else None


def _smaller(launcher: Launcher, exercise: Exercise, wrong: Program, right: Program, strategy) -> Told | None:
    """The smallest telling input that Hypothesis comes to."""
    settings = hypothesis.settings(
        max_examples=SHRINKING,
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    try:
        case = hypothesis.find(
            strategy, lambda case: _told(launcher, exercise, wrong, right, case) is not None, settings=settings
        )
    except hypothesis.errors.NoSuchExample:
        return None
    return _told(launcher, exercise, wrong, right, case)


def _chunks(exercise: Exercise, answer: Program) -> list[Chunk]:
    chunks = chunks_of_file(answer.source, exercise.function, answer.name)
    if chunks is None:
        raise ValueError(f"{answer.name} does not define {exercise.function}")
    return with_references(chunks, [find(name) for name in exercise.uses], bound_names(answer.source))
