"""Tries whether an exercise's cases notice a mutant, under ten keys.

`autograder bank` judges under grading conditions, with every level and the name of the mistake. Here one question is
asked, does it fail, so a mutant is judged until its first failing case. Under the public key all cases are run, in
their order, until one fails; that case counts where it fails in ranks of its own, too. What passes there is judged
under the other keys, until one of them fails it. What fails in a case that is the same under every key, or does not
come to an end, is killed. What fails in a case whose values are drawn is judged under two other keys, beginning with
that case; where another case than that one has to tell, under all. A mutant that passes under any key is not killed:
the verdict would hang on the key.

Most mutants of an exercise fail in the same few cases. So the cases that are the same under every key come first, and
of these the one that has killed most.
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, field

from autograder.exercise import PUBLIC_KEY, Case, Exercise, rng_for, seed_of
from autograder.judging.case import judge_case
from autograder.judging.judge import Runners, chunks_of_file, with_references
from autograder.judging.runners import Ranks
from autograder.registry import find
from labkit.cells.slicing import Chunk, bound_names
from labkit.launch.launcher import Launcher, LauncherError, Limits
from labkit.relay import wire

OTHER_KEYS = tuple(f"key {k}" for k in range(1, 10))
SAMPLED = 2  # other keys for what a drawn case has killed
LIMITS = Limits(cpu_seconds=2, deadline=10.0, patience=2.0)  # a right answer takes a fiftieth of that
KILLED, BY_KEY, ALIVE, BROKEN = "killed", "by key", "alive", "breaks the judge"


@dataclass(frozen=True)
class Fate:
    """The fate of a mutant. state: killed, by key, alive; or it breaks the judge, which then says of no answer what it
    is worth. fails: key -> the case that fails it, None where it passes all. how: the verdict and the diagnosis in the
    first failing case; the exception that broke the judge."""

    state: str
    fails: dict[str, int | None] = field(default_factory=dict)
    how: str = ""

    def is_known(self, keys: int) -> bool:
        """True if nothing more is to be found out under that many keys."""
        return self.state != ALIVE or len(self.fails) >= keys


@dataclass(frozen=True)
class Failure:
    """The first failing case, by number, with its verdict."""

    case: int
    verdict: str
    diagnosis: str


class MutantJudge:
    """Says of answers to one exercise, one after the other, whether its cases fail them. Its ranks stay warm."""

    def __init__(self, exercise: Exercise, launcher: Launcher, limits: Limits = LIMITS):
        self.exercise = exercise
        self.runners = Runners(launcher, limits, windows=2)
        self.is_fixed = functools.cache(self._is_fixed)
        self.killers: Counter[int] = _killers(exercise)

    def cases(self, key: str) -> list[Case]:
        """The exercise's cases under that key."""
        return _cases(self.exercise, key)

    def __enter__(self) -> MutantJudge:
        return self

    def __exit__(self, *exc) -> None:
        self.runners.close()

    def fate(self, source: str, keys: int = 1 + len(OTHER_KEYS), known: Fate | None = None) -> Fate:
        """The fate of a mutant under so many keys. known: the result of an earlier call with fewer of them."""
        with self.runners.student([self.exercise]):  # the ranks that have run a case run the next, under any key
            try:
                return self._fate(source, keys, known)
            except LauncherError:
                raise
            except Exception as error:  # of the exercise's own formulas and facts, about a value nobody thought of
                text = " ".join(str(error).split())[:200]
                return Fate(BROKEN, {}, f"{type(error).__name__}: {text}".rstrip(": "))

    def _fate(self, source: str, keys: int, known: Fate | None) -> Fate:
        if known is not None and known.state == ALIVE:
            return self._of_a_survivor(source, keys, dict(known.fails))
        first = self.failure(source, PUBLIC_KEY)
        if first is None:
            return self._of_a_survivor(source, keys, {PUBLIC_KEY: None})
        fails: dict[str, int | None] = {PUBLIC_KEY: first.case}
        how = f"{first.verdict} {first.diagnosis}"
        left = list(OTHER_KEYS[: min(SAMPLED, keys - 1)])
        if first.verdict == "too_slow" or self.is_fixed(first.case):
            left = []
        while left:
            key = left.pop(0)
            other = self.failure(source, key, first.case, sure=False)
            fails[key] = other.case if other else None
            if other is None:
                return Fate(BY_KEY, fails, how)
            if other.case != first.case:
                left = [key for key in OTHER_KEYS[: keys - 1] if key not in fails]
        return Fate(KILLED, fails, how)

    def _of_a_survivor(self, source: str, keys: int, fails: dict[str, int | None]) -> Fate:
        for key in OTHER_KEYS[: keys - 1]:
            if key in fails:
                continue
            other = self.failure(source, key)
            fails[key] = other.case if other else None
            if other is not None:
                return Fate(BY_KEY, fails, f"{other.verdict} {other.diagnosis}")
        return Fate(ALIVE, fails)

    def failure(self, source: str, key: str, begin: int | None = None, sure: bool = True) -> Failure | None:
        """The first case that an answer fails under that key, case `begin` before the others; None where it passes all.
        sure: a case that fails in ranks that have served before is run again in fresh ones."""
        with self.runners.student([self.exercise]):
            return self._failure(source, key, begin, sure)

    def _failure(self, source: str, key: str, begin: int | None, sure: bool) -> Failure | None:
        cases, chunks = self.cases(key), self.chunks(source)
        for k in sorted(range(len(cases)), key=lambda n: (n != begin, not self.is_fixed(n), -self.killers[n])):
            result = self._judged(cases[k], chunks, key, k, Ranks.SHARED)
            again = sure and self.runners.served_before and result.verdict != "passed"
            if again:
                result = self._judged(cases[k], chunks, key, k, Ranks.FRESH)
            if result.verdict != "passed":
                self.killers[k] += 1
                return Failure(k, result.verdict, result.diagnosis)
        return None

    def _judged(self, case: Case, chunks: list[Chunk], key: str, number: int, ranks: Ranks):
        seed = seed_of(key, self.exercise.unit, self.exercise.function)
        outcome, ends = self.runners.run(self.exercise, case, chunks, seed, ranks, poison=2 * number)
        return judge_case(self.exercise, case, outcome, ends)

    def chunks(self, source: str) -> list[Chunk]:
        """The parts of an answer that its function needs, with our own in place of earlier exercises."""
        chunks = chunks_of_file(source, self.exercise.function, "answer.py")
        if chunks is None:
            raise ValueError(f"there is no {self.exercise.function} in this answer")
        return with_references(chunks, [find(name) for name in self.exercise.uses], bound_names(source))

    def _is_fixed(self, k: int) -> bool:
        """True if case k hands out the same under every key that is tried."""
        content = _content(self.cases(PUBLIC_KEY)[k])
        return all(_content(self.cases(key)[k]) == content for key in OTHER_KEYS)


@functools.lru_cache(maxsize=2 + len(OTHER_KEYS))
def _cases(exercise: Exercise, key: str) -> list[Case]:
    return list(exercise.cases(rng_for(exercise, key)))


@functools.lru_cache(maxsize=8)
def _killers(exercise: Exercise) -> Counter[int]:
    """The number of mutants that each case of an exercise has failed, in this process."""
    return Counter()


def _content(case: Case) -> str:
    return repr([wire.encode(list(case.arguments_of(r))) for r in range(case.world_size)])
