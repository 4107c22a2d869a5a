"""On a machine that is slow for a while a right answer may use up its processor time: then it gets more, once."""

from __future__ import annotations

import pytest

from autograder.judging.judge import Runners, judge_with
from autograder.registry import find
from labkit.cells.slicing import Chunk
from labkit.relay.outcome import Outcome, RankOutcome

EXERCISE = find("fair_share")


class SlowFor(Runners):
    """Every case is too slow on a machine of that pace until it gets `enough` seconds of processor time."""

    def __init__(self, launcher, slowed: float, enough: float):
        super().__init__(launcher)
        self.pace, self.enough, self.given = slowed, enough, []
        relay = self.by_runtime["plain"]
        run = relay.run

        def slow(asked):
            self.given.append(asked.limits.cpu_seconds)
            if asked.limits.cpu_seconds >= self.enough:
                outcome, ends = run(asked)
            else:
                outcome, ends = Outcome([RankOutcome("running")], [], [], None, True), [{}]
            outcome.slowed = self.pace
            return outcome, ends

        relay.run = slow


def verdict(runners: Runners, key: str = "public") -> str:
    return judge_with(runners, EXERCISE, [Chunk("In [1]", 1, EXERCISE.reference)], key=key).verdict


def test_what_was_too_slow_on_a_slow_machine_runs_again_with_more_processor_time(warm):
    with SlowFor(warm, slowed=3.0, enough=12) as runners:
        assert verdict(runners) == "passed"
        assert runners.given[:2] == [4, 18] and set(runners.given[2:]) == {18}  # all later cases get it at once
        assert runners.slowed == 1.0  # the next student begins anew


@pytest.mark.parametrize(("slowed", "given"), [(1.0, [4, 1]), (3.0, [4, 18, 5])])
def test_who_never_comes_to_an_end_runs_again_once(warm, slowed, given):
    """The first level, again where the machine was slow; the second in a hurry."""
    with SlowFor(warm, slowed, enough=1000) as runners:
        assert verdict(runners) == "too_slow"
        assert runners.given == given
