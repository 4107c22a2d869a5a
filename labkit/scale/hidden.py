"""The replicas' collectives that go on while ranks compute, by formula: one rank's two clocks, of computing and of the
network, over the layers of a few passes; the rest is multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from labkit.scale.step import Step
from labkit.scale.uses import Use, at_the_end, uses_of_pass
from labkit.scale.wires import Wires

REPLICAS = ("data", "context")
NOBODY: frozenset[str] = frozenset()
CARDS = ("rank", "node")  # the kinds of cards: of ranks inside a node, of a node to the others
Held = dict[str, float]  # seconds, of each kind of cards
Price = tuple[float, float, Held]
FREE: Held = dict.fromkeys(CARDS, 0.0)
INSTANT = 1e-12


@dataclass(frozen=True)
class Network:
    """The prices of a step's collectives of replicas. talking: the kinds of cards that all other communication within a
    layer takes: what is hidden makes it wait where it takes the same."""

    step: Step
    wires: Wires
    talking: frozenset[str] = NOBODY

    def price(self, kind: str, nbytes: float) -> Price:
        """Seconds of a collective, and those for which it holds cards that talking needs, and cards of each kind."""
        group = self.wires.collective(kind, *REPLICAS)
        held = {one: group.held(nbytes, frozenset((one,))) for one in CARDS}
        return group.seconds(nbytes), group.held(nbytes, self.talking), held

    def reduction(self, nbytes: float) -> Price:
        """The same of the one that adds up gradients."""
        return self.price("reduce_scatter" if self.step.zero else "all_reduce", nbytes)


def network(step: Step, wires: Wires) -> Network:
    """The network of a step's replicas."""
    stages = range(step.mesh.pipeline)
    talking = NOBODY
    if step.mesh.tensor > 1:
        talking |= wires.collective("all_reduce", "tensor").classes
    if step.mesh.context > 1:
        talking |= frozenset().union(*(wires.ring(stage).classes for stage in stages))
    if step.expert_bytes:
        talking |= wires.collective("all_to_all", "experts").classes
    return Network(step, wires, talking)


def longest(held: Held, classes: frozenset[str]) -> float:
    """The longest of cards of these kinds."""
    return max((held[one] for one in classes), default=0.0)


@dataclass
class Clocks:
    """Seconds until which a rank computes, and the network is busy for it. talking: until then it holds cards that
    talking needs; held: when collectives begin that are alike, how many, and the price of each. waits: for which a
    message to another stage waits for cards at the end of the last forward and backward pass; last: and one that is to
    come in."""

    now: float = 0.0
    net: float = 0.0
    talking: float = 0.0
    held: list[tuple[float, int, Price]] = field(default_factory=list)
    waits: list[Held] = field(default_factory=lambda: [FREE, FREE])
    last: Held = field(default_factory=lambda: FREE)

    def post(self, price: Price, often: int = 1) -> float:
        """The end of collectives, one after the other, that are begun now, or when the network is free."""
        start = max(self.now, self.net)
        seconds, talking, _ = price
        self.net = start + often * seconds
        if talking:
            self.talking = self.net - seconds + talking
        self.held = [one for one in self.held if one[0] + one[1] * one[2][0] > self.now]
        self.held.append((start, often, price))
        return self.net

    def until_free(self, coming: bool = False) -> Held:
        """Seconds until the collective is over that holds the cards now. coming: one that begins now counts as well."""
        found = FREE
        for start, often, (seconds, _, held) in self.held:
            since = self.now + coming * INSTANT - start
            if since > 0 and seconds:
                over = start + min(often - 1, since // seconds) * seconds - self.now
                found = {one: max(found[one], over + held[one]) for one in CARDS}
        return found


def walk(on: Network, passes: Sequence[list[Use]], seconds: Sequence[tuple[float, float]]) -> Clocks:
    """The clocks after these passes. seconds: of a layer forward and backward, computing and all other
    communication."""
    clocks, ends, ahead, begun = Clocks(), {}, on.step.gathers_ahead, 0
    every = [use for one in passes for use in one]
    for place, use in enumerate(every):
        # before the first layer all that is ahead of it is gathered, then one more with each
        for other in range(begun, min(place + ahead + 1, len(every))):
            if every[other].gather:
                ends[other] = clocks.post(on.price("all_gather", every[other].gather))
            begun = other + 1
        computing, talking = seconds[0 if use.forward else 1]
        clocks.now = max(clocks.now, ends.get(place, 0.0)) + computing
        if talking:
            clocks.now = max(clocks.now, clocks.talking) + talking
        if use.last:
            clocks.waits[0 if use.forward else 1] = clocks.until_free()
        if use.reduce:
            end = clocks.post(on.reduction(use.reduce / use.buckets), use.buckets)
            if on.step.overlap.gradients is None:
                clocks.now = end
            clocks.last = clocks.until_free(True)
    return clocks


@dataclass(frozen=True)
class Behind:
    """within: seconds that the replicas' collectives add to each forward and backward pass of a chunk; filling: and to
    those for which other stages wait when a pipeline is filled and emptied; after: and once;
    waits: for which cards are held when a message forward, and one backward, is to leave; last: and when one comes in
    after a backward pass; all: that they take, hidden or not."""

    within: float = 0.0
    filling: float = 0.0
    after: float = 0.0
    all: float = 0.0
    waits: tuple[Held, Held] = (FREE, FREE)
    last: Held = field(default_factory=lambda: FREE)


def behind(step: Step, wires: Wires, seconds: Sequence[tuple[float, float]]) -> Behind:
    """The time of the replicas' collectives that does not fit behind computing, of the fullest chunks. seconds: as for
    `walk`. A pass in the middle costs as much as the third one of a rank costs more than the second."""
    on, layers, v = network(step, wires), max(step.layers_of), step.chunks
    times = step.micro_batches * v
    alone = layers * sum(map(sum, seconds))
    few = min(2, times)
    head, slot, tail = _passes(step, layers)

    def clocks(passes: list[list[Use]]) -> Clocks:
        return walk(on, passes, seconds)

    one, more = (clocks([*head, *slot * often, *tail]) for often in (few, few + 1))
    within = max(0.0, more.now - one.now - alone) if times > 1 else 0.0
    growth = max(0.0, (more.net - more.now) - (one.net - one.now)) if times > 1 else 0.0
    filling = within and sum(clocks([way] * 3).now - clocks([way] * 2).now for way in slot) - alone
    ends = layers * sum(sum(seconds[0 if one[0].forward else 1]) for one in (*head, *tail))
    left = max(0.0, one.net - one.now + (times - few) * growth) + sum(on.price(*end)[0] for end in at_the_end(step))
    after = one.now - few * (alone + within) - ends + left
    return Behind(
        within, max(0.0, filling), after, _all(on, head, slot, tail, times), (one.waits[0], one.waits[1]), one.last
    )


def _passes(step: Step, layers: int) -> tuple[list[list[Use]], list[list[Use]], list[list[Use]]]:
    """The passes of a first stage that are different at the beginning and at the end of a step, and a forward and
    backward pass between. With chunks p passes of each follow each other."""
    zero, v, hidden = step.zero, step.chunks, step.overlap
    plain = step.mesh.pipeline - 1 if v > 1 else 0
    slot = [uses_of_pass(step, layers, True, zero == 3, False), uses_of_pass(step, layers, False, zero == 3, zero >= 2)]
    rest = [[uses_of_pass(step, layers, way, False, False)] * plain for way in (True, False)]
    head, tail = [], []
    for _ in range(v):
        if zero in (1, 2) and hidden.gathers:
            head += [uses_of_pass(step, layers, True, True, False), *rest[0]]
        if zero < 2 and hidden.gradients is not None:
            tail += [*rest[1], uses_of_pass(step, layers, False, False, True)]
    return head, slot, tail


def _all(on: Network, head: list, slot: list, tail: list, times: int) -> float:
    """Seconds of all collectives of the replicas in a step."""

    def of(passes: list[list[Use]]) -> float:
        every = [use for one in passes for use in one]
        gathers = sum(on.price("all_gather", use.gather)[0] for use in every if use.gather)
        return gathers + sum(use.buckets * on.reduction(use.reduce / use.buckets)[0] for use in every if use.reduce)

    return of(head) + times * of(slot) + of(tail) + sum(on.price(*end)[0] for end in at_the_end(on.step))
