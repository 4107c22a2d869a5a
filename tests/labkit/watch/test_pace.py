"""What a limit is worth on a machine that is slow or busy: measured there, never less than what was asked for."""

from __future__ import annotations

import random

import pytest

from labkit.watch import pace
from labkit.watch.pace import MOST, Deadline, Pace


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def counted(seconds: float, paces: list[Pace], step: float) -> tuple[Deadline, float]:
    """(a deadline, by the clock when it was over) where the machine has these paces in turn, the last for good."""
    clock = Clock()
    deadline = Deadline(seconds, lambda: paces.pop(0) if len(paces) > 1 else paces[0], clock, lambda: 0.5)
    while deadline.left() > 0:
        clock.now += step
    return deadline, clock.now


def test_at_the_usual_pace_a_second_is_a_second():
    assert counted(10, [Pace()], 0.125)[1] == 10


@pytest.mark.parametrize("step", [0.125, 0.5, 2.0])
def test_on_a_busy_machine_a_deadline_is_later_by_the_clock(step):
    assert counted(10, [Pace(1.0, 4.0)], step)[1] == 40


def test_every_stretch_of_time_counts_at_its_own_pace():
    deadline, end = counted(2, [Pace(3.0, 4.0), Pace()], 0.5)
    assert end == 0.5 + (2 - 0.5 / 4) + 0.125  # looked at every half second
    assert deadline.worst == 3.0


def test_it_is_measured_no_more_often_than_needed():
    looks, clock = [], Clock()
    deadline = Deadline(60, lambda: looks.append(clock.now) or Pace(), clock, lambda: 0.5)
    for _ in range(1000):
        clock.now += 0.01
        deadline.left()
    assert len(looks) <= 10 / pace.EVERY


@pytest.mark.parametrize("period", [pace.EVERY, pace.EVERY / 2, 1.12 * pace.EVERY])
def test_who_is_busy_for_a_moment_at_regular_times_gains_little(period):
    """The moments of measuring cannot be foreseen."""
    clock = Clock()
    busy = Pace(1.0, MOST)
    deadline = Deadline(20, lambda: busy if clock.now % period < 0.02 else Pace(), clock, random.Random(5).random)
    while deadline.left() > 0:
        clock.now += 0.01
    assert clock.now < 26


@pytest.mark.parametrize(
    ("processor", "clock", "waiting", "wanted"),
    [
        (0.5, 0.5, 0.5, Pace(1.0, 1.0)),  # a fast machine, idle
        (2.0, 2.0, 0.5, Pace(2.0, 2.0)),  # a slow one
        (1.0, 1.0, 5.0, Pace(1.0, 5.0)),  # five that want each processor
        (1.0, 3.0, 0.0, Pace(1.0, 3.0)),  # nobody says how many, but it takes its time
        (2.0, 2.0, 3.0, Pace(2.0, 6.0)),
        (99.0, 99.0, 99.0, Pace(MOST, MOST)),
    ],
)
def test_the_pace_is_what_slows_down_most(processor, clock, waiting, wanted):
    assert pace._pace(processor, clock, waiting) == wanted


def test_measured_it_is_a_pace():
    found = pace.now()
    assert 1 <= found.processor <= found.clock <= MOST
