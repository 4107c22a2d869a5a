"""A dependency graph in place of a pipeline: every rank does the actions of its order one after the other, each as soon
as what it needs is there.

An action is a tuple: ("F", k), the forward pass of micro-batch k; ("B", k), its backward pass; where the backward pass
is split in two, ("B", k) is the gradient of the input alone and ("W", k) that of the weights. With v chunks of layers
per rank a third number says which of its chunks: ("F", k, j). Rank r holds the chunks r, r + p, r + 2 p, ... of the
model, so its chunk j is number r + j p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.watch.events import COMPUTE, Event

Action = tuple[str, int, int]  # what, micro-batch, chunk of this rank
Seconds = float | Sequence[float]
KINDS = "FBW"


class StandStill(ValueError):
    """An order in which nobody can go on. rank, action, place: the first action that can never run, and where it stands
    in its rank's order, from 0."""

    def __init__(self, text: str, rank: int, action: tuple, place: int):
        super().__init__(text)
        self.rank, self.action, self.place = rank, action, place


@dataclass(frozen=True)
class Replay:
    """The result of replaying an order. All in seconds, rank by rank.

    orders: the actions as (what, k, j). starts, ends: when each began and was done, in the same places. busy: seconds
    of work. alive: the most forward passes that waited for their backward pass (their "W" where there is one) at a
    time, one per chunk.
    """

    orders: list[list[Action]]
    starts: list[list[float]]
    ends: list[list[float]]
    busy: np.ndarray
    alive: np.ndarray

    @property
    def finish(self) -> np.ndarray:
        """The time at which each rank finished its last action."""
        return np.array([ends[-1] for ends in self.ends])

    @property
    def elapsed(self) -> float:
        """The time at which the last rank was done."""
        return float(self.finish.max())

    @property
    def bubble(self) -> np.ndarray:
        """The share of `elapsed` in which each rank had nothing to do."""
        return 1 - self.busy / self.elapsed

    @property
    def events(self) -> list[Event]:
        """For `labkit.timeline.draw`: a block for every action."""
        return [
            Event(r, COMPUTE, start, start, end, label=f"{what}{k}")
            for r, order in enumerate(self.orders)
            for (what, k, _), start, end in zip(order, self.starts[r], self.ends[r], strict=True)
        ]

    @property
    def memory(self) -> list[list[tuple[float, int]]]:
        """For `labkit.timeline.draw`: how many forward passes are alive from when on."""
        return [_curve(*one) for one in zip(self.orders, self.starts, self.ends, strict=True)]


def replay(
    orders: Sequence[Sequence[tuple]],
    p: int,
    m: int,
    v: int = 1,
    forward: Seconds = 1.0,
    backward: Seconds = 2.0,
    hop: float = 0.0,
    weights: Seconds | None = None,
) -> Replay:
    """Run the orders of p ranks, m micro-batches and v chunks per rank.

    forward, backward: seconds of one chunk, or one number for each of the p v chunks of the model, in its order.
    weights: those of "W"; None: backward passes are whole. hop: seconds until what one rank has computed is on another.

    Raises ValueError where an order is not p lists of actions, each done once; StandStill, a ValueError too, where they
    can never be done in this order, with the first action that can never run: it waits for what comes only after
    itself, or, of several that wait for each other, for the one that has waited longest.
    """
    program = _Program(p, m, v, (forward, backward, weights), hop)
    return program.run([program.checked(r, order) for r, order in enumerate(_one_each(orders, p))])


def _one_each(orders: Sequence[Sequence[tuple]], p: int) -> Sequence[Sequence[tuple]]:
    if len(orders) != p:
        raise ValueError(f"{len(orders)} orders for {p} ranks")
    return orders


def _says(action: Sequence, v: int) -> str:
    return f"{action[0]}{action[1]}" + (f" of chunk {action[2]}" if v > 1 else "")


def _curve(order: list[Action], starts: list[float], ends: list[float]) -> list[tuple[float, int]]:
    """(seconds, forward passes alive from then on)."""
    last = "W" if any(what == "W" for what, _, _ in order) else "B"
    count, steps = 0, [(0.0, 0)]
    for (what, _, _), start, end in zip(order, starts, ends, strict=True):
        if what == "F":
            count += 1
            steps.append((start, count))
        elif what == last:
            count -= 1
            steps.append((end, count))
    return steps


class _Program:
    """The graph of p v chunks and m micro-batches. An action's number is (kind x chunks + chunk) x m + micro-batch."""

    def __init__(self, p: int, m: int, v: int, seconds: Sequence[Seconds | None], hop: float):
        if min(p, m, v) < 1:
            raise ValueError(f"{p} ranks, {m} micro-batches, {v} chunks: each must be at least 1")
        self.p, self.m, self.v, self.hop, self.chunks = p, m, v, hop, p * v
        self.kinds = "FB" if seconds[2] is None else KINDS
        self.seconds = [self._per_chunk(one) for one in seconds if one is not None]

    def _per_chunk(self, seconds: Seconds) -> list[float]:
        values = np.broadcast_to(np.asarray(seconds, float), (self.chunks,))
        if not (values >= 0).all():
            raise ValueError("an action takes a negative time")
        return values.tolist()

    def checked(self, rank: int, order: Sequence[Any]) -> list[Action]:
        """The order as (what, k, j). Raises ValueError for what is no action, what is there twice, what is missing."""
        found: dict[Action, None] = {}
        for place, action in enumerate(order):
            whole = (*action, 0)[:3] if isinstance(action, (tuple, list)) and len(action) in (2, 3) else (None,) * 3
            what, k, j = whole
            if what not in tuple(self.kinds) or not (_below(k, self.m) and _below(j, self.v)):
                raise ValueError(f"rank {rank}, place {place}: {action!r} is none of this pipeline's actions")
            if whole in found:
                raise ValueError(f"rank {rank}, place {place}: {_says(whole, self.v)} is there twice")
            found[what, int(k), int(j)] = None
        if len(found) < len(self.kinds) * self.m * self.v:
            every = ((w, k, j) for w in self.kinds for j in range(self.v) for k in range(self.m))
            missing = next(one for one in every if one not in found)
            raise ValueError(f"rank {rank}: {_says(missing, self.v)} is missing")
        return list(found)

    def number(self, rank: int, action: Action) -> int:
        what, k, j = action
        return (KINDS.index(what) * self.chunks + rank + j * self.p) * self.m + k

    def needs(self, number: int) -> tuple[int, int]:
        """The actions that it needs: of the same chunk, and of a neighbour; -1: none."""
        kind, rest = divmod(number, self.chunks * self.m)
        chunk, one_kind = rest // self.m, self.chunks * self.m
        if kind == 0:
            return -1, number - self.m if chunk else -1
        if kind == 2:
            return number - one_kind, -1
        return number - one_kind, number + self.m if chunk < self.chunks - 1 else -1

    def run(self, orders: list[list[Action]]) -> Replay:
        """Each rank goes on until it must wait; whoever finishes what it waits for wakes it."""
        queues = [[self.number(r, action) for action in order] for r, order in enumerate(orders)]
        done: list[float] = [-1.0] * (3 * self.chunks * self.m)
        self.starts: list[list[float]] = [[] for _ in queues]
        self.ends: list[list[float]] = [[] for _ in queues]
        asleep: dict[int, list[int]] = {}  # number of an action -> ranks that wait for it
        ready = list(range(self.p))
        while ready:
            self._go_on(ready.pop(), queues, done, asleep, ready)
        if any(len(ends) < len(queue) for ends, queue in zip(self.ends, queues, strict=True)):
            raise self._stands_still(orders, queues, done)
        busy = np.array([np.subtract(e, s).sum() for s, e in zip(self.starts, self.ends, strict=True)])
        curves = [_curve(*one) for one in zip(orders, self.starts, self.ends, strict=True)]
        alive = np.array([max(count for _, count in curve) for curve in curves])
        return Replay(orders, self.starts, self.ends, busy, alive)

    def _go_on(self, rank: int, queues, done: list[float], asleep: dict[int, list[int]], ready: list[int]) -> None:
        queue, starts, ends, per_kind = queues[rank], self.starts[rank], self.ends[rank], self.chunks * self.m
        clock = ends[-1] if ends else 0.0
        for number in queue[len(ends) :]:
            own, other = self.needs(number)
            for needed in (own, other):
                if needed >= 0 and done[needed] < 0:
                    asleep.setdefault(needed, []).append(rank)
                    return
            if other >= 0:
                clock = max(clock, done[other] + (self.hop if self.p > 1 else 0.0))
            starts.append(clock)
            clock += self.seconds[number // per_kind][number % per_kind // self.m]
            done[number] = clock
            ends.append(clock)
            if number in asleep:
                ready += asleep.pop(number)

    def _stands_still(self, orders: list[list[Action]], queues: list[list[int]], done: list[float]) -> StandStill:
        """The rank among those that wait whose action needs what comes later in its own order, else the one that waits
        longest.
        """
        waiting = [r for r in range(self.p) if len(self.ends[r]) < len(queues[r])]

        def lacks(r: int) -> int:
            return next(n for n in self.needs(queues[r][len(self.ends[r])]) if n >= 0 and done[n] < 0)

        own = [r for r in waiting if lacks(r) in queues[r]]
        rank = min(own or waiting, key=lambda r: (self.ends[r][-1] if self.ends[r] else 0.0, r))
        place, lacking = len(self.ends[rank]), lacks(rank)
        action, holder = orders[rank][place], lacking // self.m % self.chunks % self.p
        later = orders[holder][queues[holder].index(lacking)]
        text = (
            f"rank {rank}: {_says(action, self.v)}, place {place} of its order, can never run. It needs "
            f"{_says(later, self.v)} of rank {holder}, "
        )
        head = orders[holder][len(self.ends[holder])]
        text += (
            "which comes later in the same order." if holder == rank else f"which waits behind {_says(head, self.v)}."
        )
        return StandStill(text, rank, action, place)


def _below(value: Any, limit: int) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 0 <= value < limit
