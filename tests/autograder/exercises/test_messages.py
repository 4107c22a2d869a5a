"""What exercises on messages read out of events: the time that counts, and which calls are collectives."""

import pytest

from autograder.exercise import RankRun, Run
from autograder.exercises.readings.messages import forbidden_collective, time_without_barriers
from labkit.watch.events import Event


def taken(*events: Event) -> float:
    ranks = (RankRun(None, finish=10.0), RankRun(None, finish=10.0))
    return time_without_barriers(Run(ranks, elapsed=10.0, events=events))


def barrier(start: float, end: float, rank: int = 0) -> Event:
    return Event(rank, "barrier", start, start, end)


@pytest.mark.parametrize(
    ("events", "seconds"),
    [
        ([barrier(1, 3)], 8),
        ([barrier(1, 3), barrier(2, 5)], 6),
        ([barrier(1, 3, rank=1)], 10),
        ([barrier(1, 3), Event(1, "send", 0, 0, 10)], 10),
        ([barrier(1, 9), Event(1, "send", 2, 2, 4), Event(0, "recv", 1, 3, 5)], 5),
        ([barrier(1, 3), Event(1, "send", 0, None, None)], 8),
    ],
    ids=["alone", "two at a time", "of others", "beside a message", "beside some", "beside one that never went"],
)
def test_a_barrier_takes_off_only_time_in_which_nothing_else_moves(events, seconds):
    assert taken(*events) == pytest.approx(seconds)


def test_a_barrier_is_a_collective_unless_the_text_allows_it():
    run = Run((RankRun(None, collectives=("barrier",)),))
    assert forbidden_collective(run).diagnosis == "uses_collective"
    assert forbidden_collective(run, but="barrier") is None
