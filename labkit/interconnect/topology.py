"""The network's shape: which link two ranks are joined by, which cards it occupies, and what a library's collective
costs on the links it uses.

Costs are those of the LogGP model (Alexandrov, Ionescu, Schauser, Scheiman 1995): a message of n bytes arrives after
alpha + n beta; for overhead + n beta of that it occupies the card it leaves by and the card it comes in by. The rest of
the latency passes beside other messages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from labkit.interconnect.collectives import COLLECTIVES, rounds, uneven_rounds

OVERHEAD = 0.1  # of a link's latency, where nothing else is said
MAX_SECONDS = 1e6  # a latency, or what a byte takes: more is a slip

Card = tuple  # ("rank", r), ("node", n), or of several ("node", n, k): what a message occupies


@dataclass(frozen=True)
class Link:
    """alpha: seconds until an empty message arrives. beta: seconds per byte. overhead: seconds for which every message
    occupies its cards, beside its bytes; at most alpha. reduces: whether its switches add up what comes together
    (in-network reduction: NVIDIA's SHARP, inside a node NVLS)."""

    alpha: float
    beta: float
    overhead: float = -1.0
    reduces: bool = False

    def __post_init__(self):
        if self.overhead < 0:
            object.__setattr__(self, "overhead", OVERHEAD * self.alpha)
        if not (0 <= self.overhead <= self.alpha <= MAX_SECONDS and 0 <= self.beta <= MAX_SECONDS):
            raise ValueError(f"a link of {self}: seconds are not negative, and the overhead is a part of alpha")

    def seconds(self, nbytes: float) -> float:
        """Until a message of so many bytes has arrived."""
        return self.alpha + nbytes * self.beta

    def occupied(self, nbytes: float) -> float:
        """Seconds for which it occupies its cards."""
        return self.overhead + nbytes * self.beta


@dataclass(frozen=True)
class Topology:
    """Ranks on nodes: rank r is on node r // ranks_per_node. A node is what the fast links join: 8 GPUs of a server, 72
    of a rack.

    between: the link of two nodes, from one card to another. inside: the link of two ranks of one node, each of which
    has a card of its own there. ranks_per_node: 1 is a flat network, in which every rank has a card. cards_per_node: 1
    is shared by all ranks of a node, as many as there are ranks are one each; of several, neighbouring ranks share one.
    """

    between: Link
    inside: Link | None = None
    ranks_per_node: int = 1
    cards_per_node: int = 1

    def __post_init__(self):
        if self.ranks_per_node < 1 or (self.ranks_per_node > 1) != (self.inside is not None):
            raise ValueError(f"{self.ranks_per_node} ranks per node: with more than one, say what `inside` costs")
        if not 1 <= self.cards_per_node <= self.ranks_per_node:
            raise ValueError(
                f"{self.cards_per_node} cards for {self.ranks_per_node} ranks per node: one for all to one each"
            )

    def node_of(self, rank: int) -> int:
        """The node that a rank is on."""
        return rank // self.ranks_per_node

    def kind(self, source: int, destination: int) -> str:
        """The class of the link: "inside" a node or "between" nodes."""
        return "inside" if self.node_of(source) == self.node_of(destination) else "between"

    def link(self, source: int, destination: int) -> Link:
        """The link that a message takes."""
        return self.between if self.inside is None or self.kind(source, destination) == "between" else self.inside

    def cards(self, source: int, destination: int) -> tuple[Card, Card]:
        """The card it leaves by, and the card it comes in by."""
        if self.inside is None or self.kind(source, destination) == "inside":
            return ("rank", source), ("rank", destination)
        return self.card_of(source), self.card_of(destination)

    def card_of(self, rank: int) -> Card:
        """The card by which a rank reaches other nodes."""
        node, place = divmod(rank, self.ranks_per_node)
        if self.cards_per_node == 1:
            return "node", node
        return "node", node, place * self.cards_per_node // self.ranks_per_node

    def collective(self, kind: str, members: Sequence[int]) -> CollectiveCost:
        """The cost of a library's collective of these ranks. Where it has a root, that is the first of them.

        A library's ring enters and leaves a node by one card each. So it runs several at once, each with a part of the
        bytes, where the ranks have several cards on each of their nodes (the channels of NCCL).
        """
        found = rounds(kind, len(members), self.inside is None)
        if kind == "all_reduce" and self._reduces(members):
            found = [(1, 1.0, messages) for _, _, messages in found]  # to the switches and back, at the same time
        rings = self._rings(members) if COLLECTIVES[kind].ring else []
        if not rings:
            return self._cost(members, [(often, [(a, b, share) for a, b in said]) for often, share, said in found])
        once = self._once_round(rings)
        return _added_up((often, once.of(share)) for often, share, _ in found)

    def uneven(self, kind: str, members: Sequence[int], pieces: Sequence[Sequence[int]]) -> CollectiveCost:
        """The cost of a collective whose pieces are of different sizes (`uneven_rounds`), in all: its `seconds(1)`.

        For example an all-to-all of two ranks that hand each other 10 and 30 bytes: pieces [[0, 10], [30, 0]].
        """
        rings = self._rings(members) if COLLECTIVES[kind].ring else []
        if not rings:
            return self._cost(members, [(1, messages) for messages in uneven_rounds(kind, pieces)])
        place, orders = {rank: k for k, rank in enumerate(members)}, []
        for ring in range(len(rings[0][1])):
            orders.append([place[rank] for block, at in rings for rank in block[at[ring] :] + block[: at[ring]]])
        steps = []
        for order in orders:
            parts = [[pieces[k][other] / len(orders) for other in order] for k in order]
            steps.append([[(order[a], order[b], n) for a, b, n in said] for said in uneven_rounds(kind, parts)])
        return _added_up(
            (1, _joined([self._loads(members, ring) for ring in at_once])) for at_once in zip(*steps, strict=True)
        )

    def _rings(self, members: Sequence[int]) -> list[tuple[list[int], list[int]]]:
        """Several rings of a library: node by node the members, and where among them each ring comes in, from another
        card each. Empty where there is one ring, the members as they come: they share a card, have one on a node, or
        do not come node by node."""
        blocks = [list(block) for _, block in groupby(members, self.node_of)]
        if self.cards_per_node == 1 or not 1 < len(blocks) == len({self.node_of(block[0]) for block in blocks}):
            return []
        begins = [[k for k in range(len(b)) if not k or self.card_of(b[k]) != self.card_of(b[k - 1])] for b in blocks]
        rings = min(map(len, begins))
        if rings == 1 or any(len(at) != len({*map(self.card_of, b)}) for at, b in zip(begins, blocks, strict=True)):
            return []
        return [(b, [at[r * len(at) // rings] for r in range(rings)]) for at, b in zip(begins, blocks, strict=True)]

    def _once_round(self, rings: Sequence[tuple[list[int], list[int]]]) -> _Loads:
        """The load of one message from each member to the next, on all of the rings, a byte from each member in all."""
        found, count = _Loads(), len(rings[0][1])
        for (block, at), (following, comes_in) in zip(rings, [*rings[1:], rings[0]], strict=True):
            leaves = Counter(k - 1 for k in at)
            for k, rank in enumerate(block):
                gone = leaves[k] + (leaves[-1] if k == len(block) - 1 else 0)
                found.add(self, rank, block[(k + 1) % len(block)], 1 - gone / count)
            for k, into in zip(at, comes_in, strict=True):
                found.add(self, block[k - 1], following[into], 1 / count)
        return found

    def _reduces(self, members: Sequence[int]) -> bool:
        """True if all links between neighbours have switches that add up."""
        return all(self.link(a, b).reduces for a, b in zip(members, [*members[1:], members[0]], strict=True))

    def _cost(
        self, members: Sequence[int], steps: Iterable[tuple[int, Sequence[tuple[int, int, float]]]]
    ) -> CollectiveCost:
        """steps: how often, and of each message at the same time source, destination and what it carries."""
        return _added_up((often, self._loads(members, messages)) for often, messages in steps)

    def _loads(self, members: Sequence[int], messages: Iterable[tuple[int, int, float]]) -> _Loads:
        found = _Loads()
        for a, b, share in messages:
            found.add(self, members[a], members[b], share)
        return found


def flat(alpha: float = 5e-6, beta: float = 1e-10) -> Topology:
    """A network in which every rank has a card and every message costs alpha + bytes x beta."""
    return Topology(Link(alpha, beta))


def nodes(
    ranks_per_node: int,
    inside: Link | tuple[float, float] = (1e-6, 1 / 300e9),
    between: Link | tuple[float, float] = (5e-6, 1 / 12.5e9),
    cards: int = 1,
) -> Topology:
    """Nodes of several ranks; links as (alpha, beta), in seconds and seconds per byte. cards: of each node to the
    others, each as fast as `between` says. As it stands: 1 us and 300 GB/s inside, 5 us and 100 Gbit/s between, over
    one card for all ranks of a node."""
    inside, between = (link if isinstance(link, Link) else Link(*link) for link in (inside, between))
    return Topology(between, inside if ranks_per_node > 1 else None, ranks_per_node, cards)


def topology(name: str | Topology) -> Topology:
    """The network of that name: "flat" (every rank has a card: 5 us, 10 GB/s), or "nodes of 4" (1 us and 300 GB/s
    inside a node; 5 us and 12.5 GB/s between nodes, over one card each). Other links: `nodes(4, inside=(alpha, beta),
    between=(alpha, beta))`; a card for each rank: `nodes(4, cards=4)`. Raises ValueError.
    """
    if isinstance(name, Topology):
        return name
    if name == "flat":
        return flat()
    of = re.fullmatch(r"nodes of ([1-9]\d{0,3})", name)
    if of is None:
        raise ValueError(f'no network is called {name!r}: say "flat" or, for example, "nodes of 4"')
    return nodes(int(of[1]))


Load = tuple[float, float]  # what occupies a card: seconds, and seconds for each byte of a contribution


@dataclass(frozen=True)
class CollectiveCost:
    """The cost of one collective of one group, for any number of bytes.

    steps: (how often, seconds of latency beside the cards, what busy cards carry). out, into: what each card carries in
    all of the messages that leave by it and come in by it. shares: for each class of link, how many contributions
    travel over it.
    """

    steps: tuple[tuple[int, float, tuple[Load, ...]], ...]
    out: dict[Card, Load]
    into: dict[Card, Load]
    shares: dict[str, float]

    def seconds(self, nbytes: int) -> float:
        """From the moment all are there to the end; nbytes: the largest contribution of one rank."""
        return sum(often * (beside + max(o + nbytes * b for o, b in loads)) for often, beside, loads in self.steps)

    def moved(self, nodes: int, ranks_per_node: int) -> CollectiveCost:
        """The cost of a group whose ranks lie so many nodes further on."""

        def there(loads: dict[Card, Load]) -> dict[Card, Load]:
            by = {"rank": nodes * ranks_per_node, "node": nodes}
            return {(kind, number + by[kind], *rest): load for (kind, number, *rest), load in loads.items()}

        return CollectiveCost(self.steps, there(self.out), there(self.into), self.shares) if nodes else self


class _Loads:
    """The load that messages, simultaneous or one after the other, put on the cards."""

    def __init__(self):
        self.beside = 0.0  # the longest latency beside the cards
        self.out: dict[Card, Load] = {}
        self.into: dict[Card, Load] = {}
        self.shares: dict[str, float] = {}

    def add(self, topology: Topology, source: int, destination: int, share: float) -> None:
        """One more message at the same time."""
        link, kind = topology.link(source, destination), topology.kind(source, destination)
        self.beside = max(self.beside, link.alpha - link.overhead)
        self.shares[kind] = self.shares.get(kind, 0.0) + share
        for loads, card in zip((self.out, self.into), topology.cards(source, destination), strict=True):
            overhead, per_byte = loads.get(card, (0.0, 0.0))
            loads[card] = overhead + link.overhead, per_byte + share * link.beta

    def of(self, share: float) -> _Loads:
        """The same with messages of another size."""
        found = _Loads()
        found.beside, found.shares = self.beside, {kind: share * one for kind, one in self.shares.items()}
        for mine, loads in ((found.out, self.out), (found.into, self.into)):
            mine.update({card: (overhead, share * per_byte) for card, (overhead, per_byte) in loads.items()})
        return found

    def take(self, other: _Loads, often: int) -> None:
        """All of the other's as well, so many times."""
        for kind, share in other.shares.items():
            self.shares[kind] = self.shares.get(kind, 0.0) + often * share
        for mine, loads in ((self.out, other.out), (self.into, other.into)):
            for card, (overhead, per_byte) in loads.items():
                before = mine.get(card, (0.0, 0.0))
                mine[card] = before[0] + often * overhead, before[1] + often * per_byte


def _added_up(steps: Iterable[tuple[int, _Loads]]) -> CollectiveCost:
    """The cost of steps one after the other. steps: how often, and the load of each."""
    costs, total = [], _Loads()
    for often, now in steps:
        total.take(now, often)
        costs.append((often, now.beside, tuple({*now.out.values(), *now.into.values()})))
    return CollectiveCost(tuple(costs), total.out, total.into, total.shares)


def _joined(rings: Sequence[_Loads]) -> _Loads:
    """The load of several rings at the same time: their bytes, and the overhead of one."""
    found = _Loads()
    for ring in rings:
        found.take(ring, 1)
        found.beside = max(found.beside, ring.beside)
    for mine, side in ((found.out, "out"), (found.into, "into")):
        for card, (_, per_byte) in mine.items():
            mine[card] = max(getattr(ring, side).get(card, (0.0,))[0] for ring in rings), per_byte
    return found
