"""The communication costs of a mesh's groups: seconds on the links of a topology, and bytes for each class of link.

All groups of one stage of the pipeline do the same at the same time. Groups with a card each do not meet. Those that
leave a node by one card do so one after the other, as on the relay (`labkit.relay.clock`), and all go on when the last
is done; but tensor groups that share a card, because they span nodes, take turns: while one talks another one computes.
That they do so without a gap is an approximation: on the relay such steps took up to a fifth longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from labkit.interconnect.topology import CollectiveCost, Topology
from labkit.scale.mesh import Mesh


@dataclass
class Together:
    """The same thing done by all groups of each stage at once. shares: for each stage and class of link, how often a
    rank's contribution travels."""

    costs: list[list[CollectiveCost]]
    shares: list[dict[str, float]] = field(init=False)
    _stages: list[tuple[list[CollectiveCost], bool]] = field(init=False)  # the different ones; True: groups share cards
    _known: dict[float, float] = field(default_factory=dict)
    _alone: dict[float, tuple[float, float]] = field(default_factory=dict)
    _held: dict[tuple[float, frozenset[str]], float] = field(default_factory=dict)

    def __post_init__(self):
        totals: dict[int, Counter[str]] = {}
        for stage in self.costs:
            if id(stage) not in totals:
                totals[id(stage)] = Counter()
                for cost in stage:
                    totals[id(stage)].update(cost.shares)
        self.shares = [dict(totals[id(stage)]) for stage in self.costs]
        self._stages = [(stage, _meet(stage)) for stage in {id(stage): stage for stage in self.costs}.values()]

    def seconds(self, nbytes: float) -> float:
        """Until the last group is done, from the moment all are ready."""
        if nbytes not in self._known:
            self._known[nbytes] = max(
                _slowest(stage, nbytes) if meet else _longest(stage, nbytes) for stage, meet in self._stages
            )
        return self._known[nbytes]

    def in_turns(self, nbytes: float, often: int, computing: float, parts: int = 1) -> float:
        """The seconds that repeated communication adds, each time after `computing` seconds. Either a group waits for
        itself alone, or the busiest card is never free. parts: of that computing, each of which begins when the one
        before is computed, and is then communicated, nbytes of it, while the next is computed."""
        alone, card = self._alone_and_card(nbytes)
        behind = parts - 1  # parts whose communication something is computed beside
        added = often * alone + behind * max(0.0, often * alone - computing / parts)
        return added if alone >= card else max(added, parts * often * card - computing)

    def _alone_and_card(self, nbytes: float) -> tuple[float, float]:
        """The seconds that a group takes by itself, and for which the busiest card of all is occupied."""
        if nbytes not in self._alone:
            alone = max((_longest(stage, nbytes) for stage, _ in self._stages), default=0.0)
            busiest = (_busiest(stage, nbytes) for stage, meet in self._stages if meet)  # else a group is longer
            self._alone[nbytes] = alone, max(busiest, default=0.0)
        return self._alone[nbytes]

    @cached_property
    def classes(self) -> frozenset[str]:
        """The kinds of cards that it takes: those of the ranks inside their nodes, those of the nodes."""
        return frozenset(card[0] for stage in self.costs for cost in stage for card in (*cost.out, *cost.into))

    def held(self, nbytes: float, classes: frozenset[str]) -> float:
        """The seconds for which cards of these kinds are occupied."""
        key = nbytes, classes
        if key not in self._held:
            loads = [one for stage, _ in self._stages for one in _cards(stage, nbytes).items()] if classes else []
            self._held[key] = max((seconds for (_, card), seconds in loads if card[0] in classes), default=0.0)
        return self._held[key]


def _meet(costs: Sequence[CollectiveCost]) -> bool:
    """True if two of a stage's groups leave by one card, or come in by one."""
    sides = (
        [card for cost in costs for card in side(cost)] for side in (lambda cost: cost.out, lambda cost: cost.into)
    )
    return any(len(set(cards)) < len(cards) for cards in sides)


def _longest(costs: Sequence[CollectiveCost], nbytes: float) -> float:
    """The seconds of the slowest group by itself; groups that lie alike take as long."""
    different = {id(cost.steps): cost for cost in costs}.values()
    return max((cost.seconds(nbytes) for cost in different), default=0.0)


def _loads(cost: CollectiveCost, nbytes: float) -> dict[tuple, float]:
    """The seconds for which each card is occupied: (0, card) by sending, (1, card) by receiving."""
    return {
        (way, card): overhead + nbytes * per_byte
        for way, found in enumerate((cost.out, cost.into))
        for card, (overhead, per_byte) in found.items()
    }


def _cards(costs: Sequence[CollectiveCost], nbytes: float) -> Counter[tuple]:
    """The same of all groups of a stage."""
    cards: Counter[tuple] = Counter()
    for cost in costs:
        cards.update(_loads(cost, nbytes))
    return cards


def _busiest(costs: Sequence[CollectiveCost], nbytes: float) -> float:
    return max(_cards(costs, nbytes).values(), default=0.0)


def _slowest(costs: Sequence[CollectiveCost], nbytes: float) -> float:
    """Until the last of several groups that begin together is done."""
    cards, found = _cards(costs, nbytes), [0.0]
    for cost in costs:
        others = max((cards[card] - own for card, own in _loads(cost, nbytes).items()), default=0.0)
        found.append(cost.seconds(nbytes) + others)
    return max(found)


@dataclass
class Hops:
    """One message from each rank of `source` to the rank in the same place of `destination`, all at once."""

    topology: Topology
    source: np.ndarray
    destination: np.ndarray

    def __post_init__(self):
        per_node, cards = self.topology.ranks_per_node, self.topology.cards_per_node
        crossing = self.source // per_node != self.destination // per_node
        moves = self.source != self.destination
        self.counts = {"between": int(crossing.sum()), "inside": int((moves & ~crossing).sum())}
        own = [
            side // per_node * cards + side % per_node * cards // per_node for side in (self.source, self.destination)
        ]
        per_card = [np.bincount(side[crossing].ravel()).max(initial=0) for side in own]
        self.on_a_card = 1 if self.topology.inside is None else max(per_card)

    @property
    def classes(self) -> frozenset[str]:
        """The kinds of cards that the messages take, as those of `Together`."""
        flat = self.topology.inside is None
        return frozenset(
            "rank" if flat or where == "inside" else "node" for where, count in self.counts.items() if count
        )

    def seconds(self, nbytes: float) -> float:
        """Until the last message has arrived."""
        found = [0.0]
        if self.counts["between"]:
            link = self.topology.between
            found.append(link.seconds(nbytes) + (self.on_a_card - 1) * link.occupied(nbytes))
        if self.counts["inside"]:
            found.append((self.topology.inside or self.topology.between).seconds(nbytes))
        return max(found)


@lru_cache(1 << 10)
def _of_first_nodes(topology: Topology, kind: str, ranks: tuple[int, ...]) -> CollectiveCost:
    """The cost of a group that begins on the first node: a search meets it in many meshes."""
    return topology.collective(kind, ranks)


class Wires:
    """A mesh on a topology."""

    def __init__(self, mesh: Mesh, topology: Topology):
        self.mesh, self.topology = mesh, topology
        self._together: dict[tuple, Together] = {}
        self._costs: dict[tuple, list[CollectiveCost]] = {}
        self._ways: dict[tuple[str, int], Hops] = {}
        self._known: dict[tuple[bytes, bytes], Hops] = {}

    def collective(self, kind: str, *axes: str) -> Together:
        """A library's collective of all groups along these axes; or along "experts": the ranks that a layer's experts
        are dealt out to; or "copies": those that hold the same experts."""
        if (kind, axes) not in self._together:
            self._together[kind, axes] = Together([self._stage(kind, axes, s) for s in range(self.mesh.pipeline)])
        return self._together[kind, axes]

    def _stage(self, kind: str, axes: tuple[str, ...], stage: int) -> list[CollectiveCost]:
        """The costs of a stage's groups; stages that lie alike on their nodes share them."""
        ranks = self.mesh.ranks[stage]
        ranks = ranks - ranks.min() // self.topology.ranks_per_node * self.topology.ranks_per_node
        key = kind, axes, ranks.tobytes()
        if key not in self._costs:
            self._costs[key] = self._different(kind, axes, ranks)
        return self._costs[key]

    def _different(self, kind: str, axes: tuple[str, ...], ranks: np.ndarray) -> list[CollectiveCost]:
        names = ("data", "context", "tensor")
        if axes[0] in ("experts", "copies"):
            names = ("copies", "experts", "tensor")
            ranks = ranks.reshape(self.mesh.copies, self.mesh.experts, self.mesh.tensor)
        places = [place for place, axis in enumerate(names) if axis in axes]
        length = int(np.prod([ranks.shape[place] for place in places]))
        rows = np.moveaxis(ranks, places, range(-len(places), 0)).reshape(-1, length)
        return [self._group(kind, sorted(row)) for row in rows.tolist()] if length > 1 else []

    def _group(self, kind: str, row: list[int]) -> CollectiveCost:
        """The cost of one group; groups that lie alike on their nodes have one, moved."""
        per_node = self.topology.ranks_per_node
        node = row[0] // per_node
        alike = tuple(rank - node * per_node for rank in row)
        return _of_first_nodes(self.topology, kind, alike).moved(node, per_node)

    def forward(self, stage: int) -> Hops:
        """From each rank of a stage to the next one; from the last to the first."""
        return self._hops("next", stage)

    def backward(self, stage: int) -> Hops:
        """From each rank of a stage to the one before; from the first to the last."""
        return self._hops("before", stage)

    def ring(self, stage: int) -> Hops:
        """From each rank of a stage to the next one along `context`."""
        return self._hops("ring", stage)

    def _hops(self, way: str, stage: int) -> Hops:
        if (way, stage) not in self._ways:
            ranks = self.mesh.ranks
            other = {"next": (stage + 1) % self.mesh.pipeline, "before": stage - 1, "ring": stage}[way]
            there = np.roll(ranks[other], -1, axis=1) if way == "ring" else ranks[other]
            self._ways[way, stage] = self._alike(ranks[stage], there)
        return self._ways[way, stage]

    def _alike(self, source: np.ndarray, destination: np.ndarray) -> Hops:
        """The hops between these ranks; those that lie alike on their nodes are the same."""
        per_node = self.topology.ranks_per_node
        first = min(source.min(), destination.min()) // per_node * per_node
        key = (source - first).tobytes(), (destination - first).tobytes()
        if key not in self._known:
            self._known[key] = Hops(self.topology, source, destination)
        return self._known[key]
