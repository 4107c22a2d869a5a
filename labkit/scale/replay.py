"""A step replayed on any number of ranks: the orders of the pipeline's stages as a graph of what needs what, and every
action of a stage done by all its tensor, context and data ranks at once, as an array. numpy only.

Real code on the relay takes the same time (`labkit.scale.real`) as long as receives are posted before their messages
are sent and nothing waits for a send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from labkit import schedules
from labkit.interconnect.topology import Topology
from labkit.scale.formula import Bytes, axes_of
from labkit.scale.hidden import REPLICAS, Price, network
from labkit.scale.overlap import Overlap
from labkit.scale.step import Order, Step
from labkit.scale.trouble import Trouble
from labkit.scale.uses import Use, at_the_end, at_the_end_of_experts, uses
from labkit.scale.wires import Wires
from labkit.watch.events import COMPUTE, Event

DATA, CONTEXT, TENSOR = 1, 2, 3  # the axes of an array of (stages, data, context, tensor)
KINDS = "FBW"


@dataclass(frozen=True)
class StepReplay:
    """The result of a replayed step. finish, busy: seconds of each rank, as arrays of (pipeline, data, context,
    tensor). bytes: of all ranks, by axis and class of link. actions: how many forward and backward passes, of all
    ranks. starts, ends: of each action of the first rank of each stage, in the order in which it did them, as `labels`
    calls them."""

    finish: np.ndarray
    busy: np.ndarray
    bytes: Bytes
    actions: int
    starts: np.ndarray
    ends: np.ndarray
    labels: Callable[[int], list[str]]

    @property
    def seconds(self) -> float:
        """Until the last rank was done."""
        return float(self.finish.max())

    @property
    def idle(self) -> float:
        """The share of that time in which a rank, in the mean, did not compute."""
        return 1 - float(self.busy.mean()) / self.seconds

    @property
    def events(self) -> list[Event]:
        """The events for `labkit.timeline.draw`: a block for every action of the first rank of each stage."""
        return [
            Event(stage, COMPUTE, start, start, end, label=label)
            for stage, (starts, ends) in enumerate(zip(self.starts.tolist(), self.ends.tolist(), strict=True))
            for start, end, label in zip(starts, ends, self.labels(stage), strict=True)
        ]


def replay_step(
    step: Step, topology: Topology, order: Callable | Sequence[Order], trouble: Trouble | None = None
) -> StepReplay:
    """Replay a step. order: a student's function, `order(stage, p, m)` or, with chunks, `order(stage, p, m, v)`, or the
    orders of the stages; actions as in `labkit.schedules`: ("F", k), ("B", k) or ("F", k, j).

    Raises ValueError where an order is not each action once, `labkit.schedules.StandStill` where nobody can go on.
    """
    which = _HidingReplay if step.hides_replicas else _Replay
    return which(step, topology, step.orders(order), trouble or Trouble()).run()


class _Table:
    """The actions of all stages as arrays. An action's number is (kind x chunks + chunk) x m + micro-batch; what needs
    nothing needs `nothing`, a number behind them all."""

    def __init__(self, step: Step, orders: Sequence[Order]):
        p, m, v = step.mesh.pipeline, step.micro_batches, step.chunks
        self.chunks, self.m = p * v, m
        self.nothing = 3 * self.chunks * m
        self.kinds = 3 if any(action[0] == "W" for order in orders for action in order[-1:]) else 2
        self.length = self.kinds * m * v
        try:
            rows = [self._row(stage, order, p) for stage, order in enumerate(orders)]
            if len(rows) != p or any(len(np.unique(row)) != self.length or len(row) != self.length for row in rows):
                raise ValueError
        except (ValueError, TypeError, IndexError, KeyError):
            weights = 1.0 if self.kinds == 3 else None
            schedules.replay(orders, p, m, v, weights=weights)  # which says what is wrong
            raise
        self.number = np.array(rows)
        self.kind, rest = np.divmod(self.number, self.chunks * m)
        self.chunk = rest // m
        self.own, self.other = self._needs()

    def _row(self, stage: int, order: Order, p: int) -> np.ndarray:
        whole = [action if len(action) == 3 else (*action, 0) for action in order]
        kind, k, j = np.array([(KINDS.index(what), k, j) for what, k, j in whole]).T
        if k.min() < 0 or k.max() >= self.m or j.min() < 0 or stage + j.max() * p >= self.chunks:
            raise ValueError
        return (kind * self.chunks + stage + j * p) * self.m + k

    def labels(self, stage: int) -> list[str]:
        """The names of a stage's actions, in its order: "F0", "B3"."""
        return [f"{KINDS[kind]}{n % self.m}" for n, kind in zip(self.number[stage], self.kind[stage], strict=True)]

    def _needs(self) -> tuple[np.ndarray, np.ndarray]:
        """The two actions that each action waits for: one of its own chunk, and one of a neighbouring chunk."""
        one_kind = self.chunks * self.m
        own = np.where(self.kind == 0, self.nothing, self.number - one_kind)
        other = np.full_like(self.number, self.nothing)
        before, after = (self.kind == 0) & (self.chunk > 0), (self.kind == 1) & (self.chunk < self.chunks - 1)
        other[before] = self.number[before] - self.m
        other[after] = self.number[after] + self.m
        return own, other


class _Replay:
    def __init__(self, step: Step, topology: Topology, orders: Sequence[Order], trouble: Trouble):
        self.step, self.orders, self.trouble = step, orders, trouble
        self.table, self.wires = _Table(step, orders), Wires(step.mesh, topology)
        shape = step.mesh.ranks.shape
        self.clock, self.busy = np.zeros(shape), np.zeros(shape)
        self.random, self.factor, slowness = trouble.draw(shape)
        self.slow = slowness if trouble.slow_links else None
        self.end = np.zeros((self.table.nothing + 1, *shape[1:]))
        self.first = np.zeros((self.table.nothing + 1, 2))  # of the first rank of a stage: begin and end
        self.done = np.zeros(self.table.nothing + 1, bool)
        self.done[-1] = True
        self.layers = np.array(step.layers_of)
        self.bytes: Bytes = {axis: {} for axis in axes_of(step)}
        self.first_time = True
        self._seconds()

    def _seconds(self) -> None:
        """Computes the seconds of each kind of communication once."""
        step, p = self.step, self.step.mesh.pipeline
        self.tensor = self.wires.collective("all_reduce", "tensor")
        self.hops = [[way(s) for s in range(p)] for way in (self.wires.forward, self.wires.backward)]
        self.hop = np.array([[hops.seconds(step.hop_bytes) for hops in way] for way in self.hops])
        if p == 1:
            self.hop[:] = 0.0
        rings = [self.wires.ring(s) for s in range(p)]
        self.ring = np.array([[ring.seconds(n * step.context_bytes) for ring in rings] for n in (1, 2)])
        self.rings = rings

    def run(self) -> StepReplay:
        """Replays in waves: in each, every stage whose next action has what it needs does it."""
        table, p = self.table, self.step.mesh.pipeline
        at, stages = np.zeros(p, int), np.arange(p)
        while True:
            there = stages[at < table.length]
            if not len(there):
                break
            own, other = table.own[there, at[there]], table.other[there, at[there]]
            ready = there[self.done[own] & self.done[other]]
            if not len(ready):
                m, v = self.step.micro_batches, self.step.chunks
                schedules.replay(self.orders, p, m, v, weights=1.0 if table.kinds == 3 else None)  # raises StandStill
                raise AssertionError("a standstill that is none")
            kind = table.kind[ready, at[ready]]
            for one in np.unique(kind):
                which = ready[kind == one]
                self._act(which, int(one), at[which])
            at[ready] += 1
        self._count()
        self._at_the_end()
        actions = table.number.size * self.step.mesh.size // p
        starts, ends = self.first[table.number].transpose(2, 0, 1)
        return StepReplay(self.clock, self.busy, self.bytes, actions, starts, ends, table.labels)

    def _act(self, stages: np.ndarray, kind: int, at: np.ndarray) -> None:
        """One action of each of these stages, of one kind."""
        step, table = self.step, self.table
        number, chunk, other = (part[stages, at] for part in (table.number, table.chunk, table.other))
        clock = self.clock[stages]
        if kind < 2:
            clock = self._received(clock, stages, kind, other)
        if step.zero == 3 and kind < 2:
            clock = self._together(clock, "all_gather", step.shard_bytes, stages)
            clock = self._among(clock, "all_gather", "copies", step.expert_shard_bytes, stages)
        self.first[number, 0] = clock[:, 0, 0, 0]
        per_layer = step.forward if kind == 0 else step.backward / (table.kinds - 1)
        factor, layers = self.factor[stages], self.layers[chunk]
        for layer in range(layers.max(initial=0)):
            on = layers > layer
            clock[on] = self._layer(clock[on], stages[on], kind, per_layer * factor[on])
        if step.head and (ends := chunk == table.chunks - 1).any():
            clock[ends] = self._head(clock[ends], stages[ends], kind)
        if step.zero >= 2 and kind == table.kinds - 1:
            clock = self._together(clock, "reduce_scatter", step.gradient_bytes, stages)
            clock = self._among(clock, "reduce_scatter", "copies", step.expert_gradient_bytes, stages)
        self.first[number, 1] = clock[:, 0, 0, 0]
        self.clock[stages] = self.end[number] = clock
        self.done[number] = True

    def _received(self, clock: np.ndarray, stages: np.ndarray, kind: int, other: np.ndarray) -> np.ndarray:
        """Once the neighbour's message is there."""
        source = (stages - 1 if kind == 0 else stages + 1) % self.step.mesh.pipeline
        hop = self.hop[kind, source].reshape(-1, 1, 1, 1)
        if self.slow is not None:
            hop = hop * np.maximum(self.slow[source], self.slow[stages])
        there = (other != self.table.nothing).reshape(-1, 1, 1, 1)
        return np.where(there, np.maximum(clock, self._sent(other, stages, kind) + hop), clock)

    def _sent(self, other: np.ndarray, stages: np.ndarray, kind: int) -> np.ndarray:
        """The time at which the messages of these actions leave for these stages."""
        return self.end[other]

    def _head(self, clock: np.ndarray, stages: np.ndarray, kind: int) -> np.ndarray:
        """Computes what the last chunk does behind its layers."""
        head = self.step.head * (1 if kind == 0 else 2 / (self.table.kinds - 1))
        return self._compute(clock, stages, head * self.factor[stages])

    def _compute(self, clock: np.ndarray, stages: np.ndarray, seconds: np.ndarray) -> np.ndarray:
        if self.trouble.jitter:
            seconds = seconds * (1 + self.trouble.jitter * self.random.standard_exponential(clock.shape))
        self.busy[stages] += seconds
        return clock + seconds

    def _layer(self, clock: np.ndarray, stages: np.ndarray, kind: int, seconds: np.ndarray) -> np.ndarray:
        """The ring of keys and values, computing, two all-reduces, and two all-to-alls of a mixture."""
        mesh, step = self.step.mesh, self.step
        if kind < 2:
            for _ in range(mesh.context - 1):
                clock = self._ring(clock, stages, kind)
        clock = self._compute(clock, stages, seconds)
        if mesh.tensor > 1 and kind < 2:
            clock, parts = self._before_talking(clock, stages), step.overlap.tensor
            each = step.tensor_bytes / parts
            seconds = self.tensor.in_turns(each, 2, step.backward if kind else step.forward, parts)
            if self.first_time:  # all begin together
                seconds, self.first_time = max(seconds, 2 * self.tensor.seconds(each)), False
            if self.slow is not None:
                seconds = seconds * self.slow[stages].max(TENSOR, keepdims=True)
            clock = np.repeat(clock.max(TENSOR, keepdims=True) + seconds, mesh.tensor, TENSOR)
        if step.expert_bytes and kind < 2:
            clock = self._before_talking(clock, stages)
            for _ in range(2):
                clock = self._among(clock, "all_to_all", "experts", step.expert_bytes, stages)
        return clock

    def _before_talking(self, clock: np.ndarray, stages: np.ndarray) -> np.ndarray:
        """Once the cards are free."""
        return clock

    def _ring(self, clock: np.ndarray, stages: np.ndarray, kind: int) -> np.ndarray:
        """Each rank sends to the next one and receives from the one before, and waits for both."""
        seconds = self.ring[kind, stages].reshape(-1, 1, 1, 1)
        arrived = np.maximum(clock, np.roll(clock, 1, CONTEXT))
        if self.slow is not None:
            slow = self.slow[stages]
            seconds = seconds * np.maximum(slow, np.roll(slow, 1, CONTEXT))
        arrived = arrived + seconds
        return np.maximum(arrived, np.roll(arrived, -1, CONTEXT))

    def _together(self, clock: np.ndarray, kind: str, nbytes: float, stages: np.ndarray) -> np.ndarray:
        """A collective of the ranks that hold the same parameters."""
        if self.step.mesh.replicas == 1:
            return clock
        seconds = self.wires.collective(kind, *REPLICAS).seconds(nbytes)
        if self.slow is not None:
            seconds = seconds * self.slow[stages].max((DATA, CONTEXT), keepdims=True)
        return np.broadcast_to(clock.max((DATA, CONTEXT), keepdims=True) + seconds, clock.shape).copy()

    def _among(self, clock: np.ndarray, kind: str, axis: str, nbytes: float, stages: np.ndarray) -> np.ndarray:
        """A collective of the ranks that a layer's experts are dealt out to, or of those that hold the same ones."""
        mesh = self.step.mesh
        if not nbytes or getattr(mesh, axis) == 1:
            return clock
        groups, over = (len(clock), mesh.copies, mesh.experts, mesh.tensor), 2 if axis == "experts" else 1
        seconds = self.wires.collective(kind, axis).seconds(nbytes)
        if self.slow is not None:
            seconds = seconds * self.slow[stages].reshape(groups).max(over, keepdims=True)
        done = clock.reshape(groups).max(over, keepdims=True) + seconds
        return np.broadcast_to(done, groups).reshape(clock.shape).copy()

    def _at_the_end(self) -> None:
        step, every = self.step, np.arange(self.step.mesh.pipeline)
        for kind, nbytes in at_the_end(step):
            self.clock = self._together(self.clock, kind, nbytes, every)
        for kind, nbytes in at_the_end_of_experts(step):
            self.clock = self._among(self.clock, kind, "copies", nbytes, every)
            self._add_collective("data", kind, ("copies",), nbytes, np.ones(len(every)))
        for kind, nbytes in at_the_end(replace(step, overlap=Overlap())):
            self._add_collective("data", kind, REPLICAS, nbytes, np.ones(len(every)))

    def _add(self, axis: str, shares: dict[str, float], nbytes: float) -> None:
        for kind, share in shares.items():
            if share * nbytes:
                self.bytes[axis][kind] = self.bytes[axis].get(kind, 0.0) + share * nbytes

    def _add_collective(self, axis: str, kind: str, axes: Sequence[str], nbytes: float, often: np.ndarray) -> None:
        for stage, shares in enumerate(self.wires.collective(kind, *axes).shares):
            self._add(axis, shares, often[stage] * nbytes)

    def _count(self) -> None:
        """The bytes of all actions that were done."""
        step, table = self.step, self.table
        passes = table.kind < 2
        layers = np.where(passes, self.layers[table.chunk], 0).sum(1)
        self._add_collective("tensor", "all_reduce", ("tensor",), step.tensor_bytes, 2 * layers)
        if step.expert_bytes:
            self._add_collective("experts", "all_to_all", ("experts",), step.expert_bytes, 2 * layers)
        shared, routed = (step.gradient_bytes, step.shard_bytes), (step.expert_gradient_bytes, step.expert_shard_bytes)
        for axes, (gradients, shard) in ((REPLICAS, shared), (("copies",), routed)):
            if step.zero >= 2:
                often = (table.kind == table.kinds - 1).sum(1)
                self._add_collective("data", "reduce_scatter", axes, gradients, often)
            if step.zero == 3:
                self._add_collective("data", "all_gather", axes, shard, passes.sum(1))
        for stage in range(step.mesh.pipeline):
            for kind in (0, 1):
                mine = table.kind[stage] == kind
                rings = self.layers[table.chunk[stage][mine]].sum() * (step.mesh.context - 1)
                self._add("context", self.rings[stage].counts, rings * (kind + 1) * step.context_bytes)
                if step.mesh.pipeline > 1:
                    source = (stage - 1 if kind == 0 else stage + 1) % step.mesh.pipeline
                    received = (table.other[stage][mine] != table.nothing).sum()
                    self._add("pipeline", self.hops[kind][source].counts, received * step.hop_bytes)


class _HidingReplay(_Replay):
    """The same where the replicas' collectives go on while ranks compute: a stage after the other, layer by layer.

    free: when the network has done what each rank has begun. talking: until when that holds cards that other
    communication within a layer needs. held: of each stage, when collectives begin that are alike, how many, the
    seconds of one, and those for which it holds cards of each kind."""

    def __init__(self, step: Step, topology: Topology, orders: Sequence[Order], trouble: Trouble):
        super().__init__(step, topology, orders, trouble)
        if self.table.kinds == 3:
            raise ValueError("backward passes in two parts: nothing of the replicas' is hidden behind them")
        self.on = network(step, self.wires)
        self.passes = [list(uses(step, stage, order)) for stage, order in enumerate(orders)]
        self.every: list[list[Use]] = [[use for one in passes for use in one] for passes in self.passes]
        self.free, self.talking = np.zeros_like(self.clock), np.zeros_like(self.clock)
        self.held: list[list[tuple]] = [[] for _ in orders]
        self.place, self.ahead = [0] * len(orders), [0] * len(orders)
        self.gathered: dict[tuple[int, int], np.ndarray] = {}
        for stage in range(len(orders)):
            self._gather(self.clock[stage], stage, step.gathers_ahead)

    def _post(self, clock: np.ndarray, stage: int, price: Price, often: int = 1) -> np.ndarray:
        """The end of collectives of all replicas of a stage, one after the other, that are begun now."""
        axes = (DATA - 1, CONTEXT - 1)
        start = np.maximum(clock, self.free[stage]).max(axes, keepdims=True)
        slow = 1.0 if self.slow is None else self.slow[stage].max(axes, keepdims=True)
        seconds, held = price[0] * slow, {kind: one * slow for kind, one in price[2].items()}
        self.free[stage] = start + often * seconds
        if price[1]:
            self.talking[stage] = self.free[stage] - seconds + price[1] * slow
        self.held[stage] = [one for one in self.held[stage] if (one[0] + one[1] * one[2]).max() > clock.min()]
        self.held[stage].append((start, often, seconds, held))
        return self.free[stage].copy()

    def _gather(self, clock: np.ndarray, stage: int, until: int) -> None:
        """Begins to gather the weights of a stage's layers before this one, as they come."""
        for place in range(self.ahead[stage], min(until, len(self.every[stage]))):
            if nbytes := self.every[stage][place].gather:
                self.gathered[stage, place] = self._post(clock, stage, self.on.price("all_gather", nbytes))
        self.ahead[stage] = max(self.ahead[stage], until)

    def _sent(self, other: np.ndarray, stages: np.ndarray, kind: int) -> np.ndarray:
        stage = int(stages[0])
        source = (stage - 1 if kind == 0 else stage + 1) % len(self.place)
        return self._until_free(self.end[other], stage, self.hops[kind][source].classes)

    def _until_free(self, clock: np.ndarray, stage: int, classes: frozenset[str]) -> np.ndarray:
        """The time at which a message between stages, ready at `clock`, finds a stage's cards free."""
        found = clock
        for start, often, seconds, held in self.held[stage]:
            since = clock - start
            begun = start + np.minimum(often - 1, since // np.maximum(seconds, 1e-300)) * seconds
            for kind in classes:
                found = np.where(since > 0, np.maximum(found, begun + held[kind]), found)
        return found

    def _before_talking(self, clock: np.ndarray, stages: np.ndarray) -> np.ndarray:
        return np.maximum(clock, self.talking[stages])

    def _act(self, stages: np.ndarray, kind: int, at: np.ndarray) -> None:
        for place, stage in enumerate(stages):
            self._act_alone(stages[place : place + 1], int(stage), kind, int(at[place]))

    def _act_alone(self, stages: np.ndarray, stage: int, kind: int, at: int) -> None:
        """One action of one stage."""
        step, table = self.step, self.table
        number, chunk = int(table.number[stage, at]), int(table.chunk[stage, at])
        clock = self._received(self.clock[stages], stages, kind, table.other[stages, at])
        self.first[number, 0] = clock[0, 0, 0, 0]
        for use in self.passes[stage][at]:
            self._gather(clock[0], stage, self.place[stage] + step.gathers_ahead + 1)
            if (end := self.gathered.pop((stage, self.place[stage]), None)) is not None:
                clock = np.maximum(clock, end)
            self.place[stage] += 1
            if use.computes:
                seconds = (step.backward if kind else step.forward) * self.factor[stages]
                clock = self._layer(clock, stages, kind, seconds)
            if use.last and step.head and chunk == table.chunks - 1:
                clock = self._head(clock, stages, kind)
            if use.last:
                self.end[number] = self._until_free(clock[0], stage, self.hops[kind][stage].classes)
            if use.reduce:
                end = self._post(clock[0], stage, self.on.reduction(use.reduce / use.buckets), use.buckets)
                clock = clock if step.overlap.gradients is not None else end[None]
        self.first[number, 1] = clock[0, 0, 0, 0]
        self.clock[stage], self.done[number] = clock[0], True

    def _at_the_end(self) -> None:
        self.clock = np.maximum(self.clock, self.free)
        super()._at_the_end()
