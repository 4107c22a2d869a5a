"""Ranks in an endless loop: seen from outside, by the processor time they take, long before a case's deadline.

The leader of a case (`labkit.launch.leader`), or whoever has started an MPI job (`labkit.launch.mpi_job`), looks at the
ranks' processes a few times a second: `Watch`. Who knows what the ranks have said meanwhile adds up what they did
without a word: `Silence`. A rank that computes is judged by the processor time it has had, never by the clock, so that
a busy machine makes nobody look guilty; a rank that sleeps by the clock, where it neither had nor wanted a processor.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Mapping

from labkit.watch import pace

WINDOW = 1.0  # seconds over which the processor time of the ranks is looked at
RESTING = 0.2  # share of a window below which a rank sleeps: a loop of short naps takes 0.05
TOGETHER = 1.5  # times the patience with one rank: processor time of all ranks of a case together


class Watch:
    """A watch on the ranks' processes from outside. PAUSE: seconds between two looks."""

    PAUSE = 0.2

    def __init__(self):
        self._since, self._looks = time.monotonic(), 0
        self._seconds: dict[int, float] = {}  # at the end of the last window
        self._wanted: dict[int, int] = {}  # in how many looks a rank had a processor or wanted one

    def look(self, pids: Mapping[int, int]) -> dict | None:
        """At the end of a window what each rank did in it, else None. pids: process -> rank.

        Returns {"since": when the window began, on time.monotonic's clock, "ranks": {rank: [seconds of processor time,
        whether it slept]}}.
        """
        now = {rank: _used(pid) for pid, rank in pids.items()}
        self._looks += 1
        for rank, (_, runnable) in now.items():
            self._wanted[rank] = self._wanted.get(rank, 0) + runnable
        elapsed = time.monotonic() - self._since
        if elapsed < WINDOW:
            return None
        window = {}
        for rank, (seconds, _) in now.items():
            if rank in self._seconds:
                took = max(0.0, seconds - self._seconds[rank])
                window[str(rank)] = [took, took < RESTING * elapsed and 2 * self._wanted[rank] < self._looks]
        since, self._since, self._looks, self._wanted = self._since, time.monotonic(), 0, {}
        self._seconds = {rank: seconds for rank, (seconds, _) in now.items()}
        return {"since": since, "ranks": window}


def _used(pid: int) -> tuple[float, bool]:
    """(seconds of processor time, whether one could use a processor or waits for a disk) of a process and its
    children."""
    seconds, runnable = 0.0, False
    with contextlib.suppress(OSError, ValueError, IndexError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/task/{thread}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                runnable = runnable or fields[0] in "RD"
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    children = file.read().split()
                for child in children:
                    more, wants = _used(int(child))
                    seconds, runnable = seconds + more, runnable or wants
    return seconds, runnable


class Silence:
    """The activity of one case's ranks since they were last heard of. patience: seconds a rank may compute, on a
    machine of usual pace (`measure`), or sleep; 0: any."""

    def __init__(self, patience: float, measure: Callable[[], pace.Pace] = pace.now):
        self.patience, self._measure = patience, measure
        self._heard: dict[int, float] = {}
        self._computed: dict[int, float] = {}
        self._slept: dict[int, float] = {}

    def heard(self, rank: int) -> None:
        """The rank has said something, or was told something."""
        self._heard[rank] = time.monotonic()
        self._computed.pop(rank, None)
        self._slept.pop(rank, None)

    def too_long(self, window: dict, running: Collection[int]) -> bool:
        """True if a rank has now been silent for too long. window: from a `Watch`; running: the ranks that are not
        waiting for others. Raises KeyError, TypeError or ValueError for what is none."""
        since, slowed = float(window["since"]), self._measure().processor
        for rank in running:
            took, sleeps = window["ranks"].get(str(rank), (0.0, False))
            if since < self._heard.get(rank, since):
                continue
            self._computed[rank] = self._computed.get(rank, 0.0) + float(took) / slowed
            self._slept[rank] = self._slept.get(rank, 0.0) + WINDOW if sleeps else 0.0
        computed = [self._computed.get(rank, 0.0) for rank in running]
        slept = [self._slept.get(rank, 0.0) for rank in running]
        if not self.patience or not computed:
            return False
        return max(*computed, *slept, sum(computed) / TOGETHER) >= self.patience
