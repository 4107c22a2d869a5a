"""The pace of this machine, how much longer than usual it takes: for a computation, and for an answer to come by the
clock.

Limits are given for an idle machine of usual speed. On a busy one, on a slow one, or where a hypervisor gives its
guests less than they see, a right answer needs more seconds, of the processor too. So whoever enforces a limit measures
the pace while it waits, outside every process of a candidate: a small computation is timed (`now`), and a `Deadline`
counts its seconds by what came of that.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

MOST = 8.0  # no limit grows further than this many times
EVERY = 0.5  # seconds between two measurements of one `Deadline`, on average
_TURNS, _TRIES = 12_000, 3
_USUAL = 0.8e-3  # seconds of processor time for so many turns: the slowest Python of the course on a usual machine


@dataclass(frozen=True)
class Pace:
    """processor: times its usual seconds of processor time that a computation takes now, at least 1. clock: the same
    of the clock's seconds, where all that wants a processor gets its share; at least `processor`. Both at most `MOST`.
    """

    processor: float = 1.0
    clock: float = 1.0


def now() -> Pace:
    """The pace at this moment: measured, in a few milliseconds on an idle machine."""
    tries = sorted(_try() for _ in range(_TRIES))
    processor, clock = tries[_TRIES // 2][0], sorted(seconds for _, seconds in tries)[_TRIES // 2]
    return _pace(processor / _USUAL, clock / _USUAL, _waiting())


def _pace(processor: float, clock: float, waiting: float) -> Pace:
    """processor, clock: times the usual seconds that a computation took. waiting: processes for each processor."""
    processor = min(max(processor, 1.0), MOST)
    return Pace(processor, min(max(clock, processor * max(waiting, 1.0)), MOST))


def _try() -> tuple[float, float]:
    """(processor time, time by the clock) of the computation, in seconds."""
    clock, processor = time.perf_counter(), time.thread_time()
    total = 0
    for turn in range(_TURNS):
        total += turn & 7
    return time.thread_time() - processor, time.perf_counter() - clock


def _waiting() -> float:
    """The number of processes that have a processor or want one, for each that there is; 0 where the system does not
    say.
    """
    try:
        with open("/proc/loadavg") as file:
            return int(file.read().split()[3].partition("/")[0]) / (os.cpu_count() or 1)
    except (OSError, ValueError, IndexError):
        return 0.0


_chance = random.SystemRandom().random


class Deadline:
    """Seconds that are over when a machine of usual pace would have had them: on a slower one later by the clock.

    worst: the slowest pace that was measured, of the processor. measure: in place of `now`. chance: numbers from 0 to
    1, by which the moments of measuring differ: a candidate that knew them could be busy just then.
    """

    def __init__(
        self,
        seconds: float,
        measure: Callable[[], Pace] = now,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = _chance,
    ):
        self.worst = 1.0
        self._left, self._measure, self._clock, self._chance = seconds, measure, clock, chance
        self._last = clock()
        self._until = self._next()

    def _next(self) -> float:
        return EVERY * (0.5 + self._chance())

    def left(self) -> float:
        """Seconds that are left, at the usual pace; 0 or less where they are over. To be asked a few times a second:
        what has passed since the last look is counted by the pace of now."""
        passed = self._clock() - self._last
        if passed < self._until and passed < self._left:
            return self._left - passed
        pace = self._measure()
        self.worst = max(self.worst, pace.processor)
        self._last += passed
        self._left -= passed / pace.clock
        self._until = self._next()
        return self._left
