"""Perturbations of a run on many ranks, drawn from a seed: work that takes longer now and then, slow ranks, slow links,
and failures that cost a run its last steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Trouble:
    """jitter: every layer of every rank takes 1 + jitter x longer, with x drawn from an exponential distribution of
    mean 1. stragglers: how many ranks compute `straggling` times as long. slow_links: how many ranks send and receive
    at a cost `slowness` times as high. The same seed draws the same trouble."""

    seed: int = 0
    jitter: float = 0.0
    stragglers: int = 0
    straggling: float = 1.5
    slow_links: int = 0
    slowness: float = 4.0

    def draw(self, shape: tuple[int, ...]) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
        """For ranks in an array of this shape: the generator of the jitter, the factors of each rank's computing time,
        and those of its messages' cost. Raises ValueError for more slow ranks than there are."""
        random, n = np.random.default_rng(self.seed), math.prod(shape)
        if max(self.stragglers, self.slow_links) > n:
            raise ValueError(f"{self.stragglers} stragglers and {self.slow_links} slow links among {n} ranks")
        found = []
        for count, factor in ((self.stragglers, self.straggling), (self.slow_links, self.slowness)):
            values = np.ones(n)
            values[random.choice(n, count, replace=False)] = factor
            found.append(values.reshape(shape))
        return random, *found


@dataclass(frozen=True)
class Run:
    """A long run. elapsed: hours, days, whatever the seconds come to; in seconds. useful: the share of it that went
    into steps that counted. failures: how many there were."""

    elapsed: float
    useful: float
    failures: int


def run_with_failures(
    work: float, ranks: int, mtbf: float, save: float, interval: float, restart: float, seed: int = 0
) -> Run:
    """A run that needs `work` seconds of steps, saves for `save` seconds after every `interval` seconds of them, and
    after a failure goes on, `restart` seconds later, from what it saved last.

    mtbf: mean seconds between the failures of one rank; any failure stops all ranks. Times between failures are drawn
    from an exponential distribution. Raises ValueError where it would never come to its end.
    """
    if not (work > 0 and ranks > 0 and mtbf > 0 and interval > 0) or save < 0 or restart < 0:
        raise ValueError("work, ranks, mtbf and interval are positive; save and restart are not negative")
    if interval + save > 100 * mtbf / ranks:
        raise ValueError(f"nothing is ever saved: {interval + save:g} s without a failure on {ranks} ranks")
    random = np.random.default_rng(seed)
    now, saved, failures, until = 0.0, 0.0, 0, random.exponential(mtbf / ranks)
    while saved < work:
        piece = min(interval, work - saved)
        end = now + piece + (save if saved + piece < work else 0.0)
        if end <= until:
            now, saved = end, saved + piece
            continue
        failures, now = failures + 1, until + restart
        until = now + random.exponential(mtbf / ranks)
    return Run(now, work / now, failures)


def young_daly(save: float, mtbf: float) -> float:
    """Seconds of steps between two checkpoints that lose least, to first order (Young 1974, Daly 2006). mtbf: mean
    seconds between failures of the whole machine."""
    return math.sqrt(2 * save * mtbf)
