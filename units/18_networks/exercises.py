"""Unit 18, networks: ring order and placement, cost models, hierarchical and halving all-reduces, compressed gradients,
and rounds of local steps.

Which links an answer uses is read from the bytes on them, which cards it leaves idle from the virtual time.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from autograder.case import Answer, name_of
from autograder.compare import difference
from autograder.exercise import Case, Exercise, Finding, Mistake, Record, Run
from autograder.exercises.kinds import PlainExercise, RefusingExercise, ReportExercise, fits
from autograder.exercises.readings.messages import forbidden_collective
from autograder.exercises.readings.networks import (
    ALGORITHMS,
    BYTES,
    by_node,
    by_rank_number,
    by_slot,
    called,
    crossings,
    diloco,
    from_the_first_again,
    over_the_links,
    power_sgd,
    seconds_of,
    skips_a_turn,
    steps_of,
    tensor,
    top_k,
)
from autograder.exercises.source import harness_of
from autograder.values import wide_integers
from labkit.interconnect.topology import Link, nodes

TOO_MANY = Mistake("too_many_collectives", "The numbers are right, but they took more collectives than are needed.",
                   "Each call costs latency, however small its message: send small things together.")  # fmt: skip
TOO_MANY_BYTES = Mistake("too_many_bytes", "The numbers are right, but more bytes travelled than the method needs.")
SUM_FOR_MEAN = Mistake("sum_for_mean", "What came back is the sum over the ranks, not their mean.",
                       "Divide by the number of ranks.")  # fmt: skip
DROPS_ERROR = Mistake("drops_the_error", "What was not sent in one step is never sent: there is no feedback.",
                      "Add the error to the gradient first, and write what was not sent into it: "
                      "`error.copy_(...)`.")  # fmt: skip
FORGETS_OLDER = Mistake("forgets_older_errors", "The error is computed from the gradient alone: what earlier steps "
                        "kept and this one did not send is lost.",
                        "error = (gradient + error) - what was sent.")  # fmt: skip
REFUSES = Mistake("refuses_what_can_be", "This can be done, and the function raised a ValueError.", "",
                  lambda c: c.possible and "ValueError")  # fmt: skip


# -- order and placement -----------------------------------------------------------------------------------------------


class RingOrder(PlainExercise):
    """A ring that rarely leaves a node"""

    signature = "ring_order(node_of: list[int]) -> list[int]"
    levels = {"placed round-robin": 1, "any placement": 1}
    talks = False
    mistakes = [
        Mistake("not_every_rank_once", "Some rank is not in the ring exactly once.",
                "The answer holds the numbers 0 to p - 1, each once."),
        Mistake("returns_nodes", "The answer lists nodes, but a ring consists of ranks.",
                "Return rank numbers: `sorted(range(p), key=...)`."),
        Mistake("crosses_too_often", "The ring goes to another node more often than necessary.",
                "Enter each node once, and leave it when all its ranks have been visited: sort by node."),
    ]  # fmt: skip
    records = [
        Record("messages to another node in each step", "", lambda case: len(case.known["node_of"]) == 16,
               lambda case, run: crossings(run.ranks[0].value, case.known["node_of"]), lambda case: 4, lambda case: 4,
               "the ring has to leave every node.", "16 ranks dealt out to 4 nodes in turn"),
    ]  # fmt: skip

    def draw(self, rng):
        turn, any_ = self.levels
        for level, kind in ((turn, (2, 3)), (turn, (4, 4)), (any_, [3, 1, 4]), (any_, [2, 5, 2]), (any_, [3]),
                            (any_, [1, 1, 1]), (any_, [1])):  # fmt: skip
            names = (rng.permutation(90)[:5] + 20).tolist()  # none is a rank's number, too
            if kind == [3, 1, 4]:
                names[0] *= -1
            if level == turn:
                of = [names[r % kind[0]] for r in range(kind[0] * kind[1])]
            else:
                of = [name for name, often in zip(names, kind, strict=False) for _ in range(often)]
                while len(kind) > 1 and sum(kind) > 3:
                    of = rng.permutation(of).tolist()
                    if crossings(list(range(len(of))), of) > len(kind) and sorted(of) != of:
                        break
            yield level, {"node_of": of}
        yield any_, {"node_of": [31, -3, 30, 3, 31, -3, 3, 30]}  # alike in size, alike in the first digit
        yield any_, {"node_of": [53, -1, 53, -1]}  # as indices of a list: both its last entry
        wide = [2**53, 2**53 + 1, 5 + 2**32, 5]  # two are one in float64, two in 32 bits
        yield any_, {"node_of": wide + wide}
        for level in self.levels:
            yield level, {"node_of": [5, 2, 9, 5, 2, 9]}  # in order, rank 0's node is the one in the middle

    def facts(self, case: Case, run: Run):
        answer, node_of = run.ranks[0].value, case.known["node_of"]
        p, count = len(node_of), len(set(node_of))
        if isinstance(answer, list) and answer and set(map(repr, answer)) <= set(map(repr, node_of)) and p > 1:
            return "returns_nodes"
        if not isinstance(answer, list) or sorted(answer, key=repr) != sorted(range(p), key=repr):
            return "not_every_rank_once"
        found = crossings(answer, node_of)
        if found <= count * (count > 1):
            return None
        return Finding("crosses_too_often", f"It goes to another node {found} times; {count} would do.")


class PlaceRanks(RefusingExercise):
    """Where the ranks go"""

    signature = "place_ranks(hosts: list[str], slots: list[int], p: int, by: str) -> list[str]"
    levels = {"by slot and by node": 1, "hosts of different sizes": 1, "illegal arguments": 1}
    mistakes = [
        Mistake("not_by_node", "The ranks were to be placed by node, but hosts were filled one after the other.",
                "By node: one rank to each host in turn."),
        Mistake("not_by_slot", "The ranks were to be placed by slot, but they were dealt out in turn.",
                "By slot: fill a host before the next one gets a rank."),
        Mistake("overfills_a_host", "A host got more ranks than it has slots.",
                "A host without a free slot is passed over."),
        Mistake("equal_shares", "Every host was given as many slots as the first.",
                "`slots[i]` is the room of `hosts[i]`.",
                lambda c: c.possible and c.named(by_slot if c.by == "slot" else by_node,
                                                 [c.slots[0]] * len(c.slots))),
        Mistake("from_the_first_again", "Where a host was full, the dealing began again with the first one.",
                "Pass over a host without a free slot: the next one gets the rank.",
                lambda c: c.possible and c.by == "node" and c.named(from_the_first_again)),
        Mistake("by_rank_number", "Rank r looked for room from host r % hosts on. Once a host was passed over, that is "
                "no longer the next one.",
                "Remember the last host that got a rank, and go on behind it.",
                lambda c: c.possible and c.by == "node" and c.named(by_rank_number)),
        Mistake("skips_a_turn", "A full host was removed from the list, and the next one lost its turn.",
                "When a host is removed, the next one takes its index: do not advance then.",
                lambda c: c.possible and c.by == "node" and c.named(skips_a_turn)),
        REFUSES.but(how="Raise it only for an unknown `by` or more ranks than slots; exactly as many are fine."),
        Mistake("takes_anything", "What cannot be placed was placed.",
                "Raise ValueError for more ranks than slots and for an unknown `by`."),
    ]  # fmt: skip

    def draw(self, rng):
        both, sizes, wrong = self.levels
        for level, slots, p, by in (
            (both, [4, 4, 4], 10, "slot"),
            (both, [2, 2, 2], 6, "node"),
            (both, [4, 4], 6, "node"),
            (sizes, [1, 4, 2], 6, "node"),
            (sizes, [2, 1, 3], 6, "slot"),
            (sizes, [1, 0, 3, 2], 5, "node"),
            (sizes, [1, 0, 0, 3], 3, "slot"),
            (sizes, [3, 1, 3], 7, "node"),
            (sizes, [3, 1, 2], 0, "slot"),
            (sizes, [3, 3, 3], 5, "node"),  # the last one stands in the middle of a turn
            (wrong, [2, 3], 6, "node"),
            (wrong, [2, 3], 6, "slot"),
            (wrong, [4, 4], 4, "socket"),
            (wrong, [4, 4], 4, "s"),
            (wrong, [4, 4], 0, "host"),
            (wrong, [4, 4], 4, "Node"),
            (wrong, [4, 4], 4, "slots"),
            (wrong, [4, 4], 4, " slot"),
            (sizes, [0, 2], 2, "slot"),  # the first one has no room
            (sizes, [0, 2, 1], 3, "node"),
            (sizes, [0, 0], 0, "node"),  # no room at all, and nobody to place
            (both, [2, 2], 0, "node"),
        ):
            hosts = [f"node{int(k):02d}" for k in rng.permutation(90)[: len(slots)]]
            yield level, {"hosts": hosts, "slots": slots, "p": p, "by": by}

    def impossible(self, slots, p, by, **case):
        return p > sum(slots) or by not in ("slot", "node")

    def right(self, hosts, slots, p, by):
        if self.impossible(slots, p, by):
            return None
        return [hosts[k] for k in (by_slot if by == "slot" else by_node)(slots, p)]

    def worked(self, case):
        c = super().worked(case)

        def named(how, slots=c.slots):
            return [c.hosts[k] for k in how(slots, c.p)]

        c.named = named
        return c

    def read(self, answer, hosts, slots, p, by):
        if self.impossible(slots, p, by):
            return "takes_anything"
        placed = answer.get("value") if isinstance(answer, dict) else None
        if isinstance(placed, list) and any(placed.count(h) > room for h, room in zip(hosts, slots, strict=True)):
            return "overfills_a_host"
        other = [hosts[k] for k in (by_node if by == "slot" else by_slot)(slots, p)]
        return f"not_by_{by}" if placed == other else None


# -- cost models -------------------------------------------------------------------------------------------------------


class AllReduceSeconds(RefusingExercise):
    """How long an all-reduce takes"""

    signature = (
        "all_reduce_seconds(algorithm: str, nbytes: int, nodes: int, per_node: int, inside: tuple, between: tuple)"
        " -> float"
    )
    levels = {"one rank on a node": 2, "shared cards": 2, "illegal arguments": 1}
    mistakes = [
        Mistake("whole_vector_in_each_step", "Every message of this algorithm carries the whole vector here.",
                "In a ring and in the hierarchical one a message carries a part; halving sends a half, a quarter ...",
                lambda c: c.of(whole=True)),
        Mistake("half_of_it", "The parts are reduced, but the time to spread the sum is missing.",
                "The second half takes as many steps as the first.", lambda c: c.of(twice=1)),
        Mistake("own_card_each", "Every rank has a card of its own to the other nodes here.",
                "The ranks of a node share one card: if g of them send at once, it carries g times the bytes.",
                lambda c: c.of(shared=False)),
        Mistake("all_links_alike", "Every step takes the link between nodes.",
                "A step in which nobody leaves a node takes the link inside.",
                lambda c: c.of(links=(c.between, c.between))),
        Mistake("all_inside", "Every step takes the link inside a node.",
                "A step in which one rank leaves its node waits for the link between.",
                lambda c: c.of(links=(c.inside, c.inside))),
        Mistake("ring_shares_the_card", "In a ring only one rank of a node sends to another node, and has the card for "
                "itself.", "A step takes as long as its slowest message: one of n/p between the nodes.",
                lambda c: c.algorithm == "ring" and c.of(ring_shares=True)),
        Mistake("one_partner_too_many_inside", "A partner at a distance of g counts as inside, but is on another node.",
                "A partner is inside if the distance is below g.", lambda c: c.of(reach=1)),
        Mistake("large_halves_near", "The sizes are in the opposite order: the first partner, p/2 away, gets a half.",
                "Partners at a distance d swap n d / p bytes.", lambda c: c.of(backwards=True)),
        Mistake("whole_bytes", "The bytes of a message were rounded to a whole number.", "n / p, not n // p.",
                lambda c: c.of(rounded=True)),
        Mistake("no_latency", "The latency of the messages is missing.", "Each step costs alpha, too.",
                lambda c: c.of(links=((0.0, c.inside[1]), (0.0, c.between[1])))),
        Mistake("latency_shared", "The latency was multiplied by the ranks that share the card. They send at once: the "
                "card carries g times the bytes, and each message starts when the others do.",
                "alpha + g n beta, not g (alpha + n beta).",
                lambda c: c.possible and seconds_of(c.one_by_one, c.inside, c.between)),
        Mistake("p_steps", "The ring takes p - 1 steps to reduce and as many to spread, not p.",
                "Of the p parts a rank lacks p - 1.",
                lambda c: c.algorithm == "ring" and c.of() * (c.p / (c.p - 1) if c.p > 1 else 1)),
        REFUSES.but(how="Raise it only for another algorithm, or for doubling and halving where p is no power of 2."),
        Mistake("takes_anything", "An unknown algorithm, or one that does not run on this number of ranks, got a time.",
                "Raise ValueError: doubling and halving need a power of two here."),
    ]  # fmt: skip

    def draw(self, rng):
        one, shared, wrong = self.levels
        for level, algorithm, n, g in (
            (one, "ring", 8, 1),
            (one, "ring", 6, 1),
            (one, "doubling", 8, 1),
            (one, "halving_doubling", 16, 1),
            (one, "hierarchical", 5, 1),
            (one, "doubling", 1, 1),
            (shared, "ring", 2, 3),
            (shared, "ring", 1, 6),
            (shared, "doubling", 4, 4),
            (shared, "halving_doubling", 2, 8),
            (shared, "hierarchical", 3, 5),
            (shared, "hierarchical", 1, 4),
            (wrong, "doubling", 3, 2),
            (wrong, "halving_doubling", 1, 6),
            (wrong, "tree", 2, 2),
            (wrong, "Ring", 2, 2),
            (wrong, "hierarchical_ring", 1, 1),  # nothing is sent, and still no such algorithm
            (wrong, "ring ", 2, 2),
            (wrong, "recursive_doubling", 2, 2),
            (wrong, "halving", 2, 2),
        ):
            inside = float(rng.integers(5, 20)) * 1e-1, 1e-3 / float(rng.integers(100, 400))
            between = float(rng.integers(40, 90)) * 1e-1, 1e-3 / float(rng.integers(10, 30))
            known = (algorithm, int(rng.integers(9, 40)) * 480 + 7, n, g, inside, between)
            names = ("algorithm", "nbytes", "nodes", "per_node", "inside", "between")
            yield level, dict(zip(names, known, strict=True)), {"rtol": 1e-9}

    def impossible(self, algorithm, nodes, per_node, **case):
        p = nodes * per_node
        return algorithm not in ALGORITHMS or (algorithm in ALGORITHMS[1:3] and p & (p - 1) != 0)

    def right(self, algorithm, nbytes, nodes, per_node, inside, between):
        if self.impossible(algorithm, nodes, per_node):
            return None
        return seconds_of(steps_of(algorithm, nbytes, nodes, per_node), inside, between)

    def worked(self, case):
        c = super().worked(case)
        c.p = c.nodes * c.per_node

        def of(links=(c.inside, c.between), **slip):
            return seconds_of(steps_of(c.algorithm, c.nbytes, c.nodes, c.per_node, **slip), *links)

        c.of = of if c.possible else (lambda *a, **b: None)
        steps = steps_of(c.algorithm, c.nbytes, c.nodes, c.per_node) if c.possible else []
        c.one_by_one = [(often * many, at, 1, size) for often, at, many, size in steps]
        return c


# -- all-reduces -------------------------------------------------------------------------------------------------------


class SumExercise(Exercise):
    """x, the same size on every rank, is summed: known is `x` (ranks, n)."""

    all_hear = True

    def worked(self, case):
        c = super().worked(case)
        c.total = c.x.sum(axis=0)
        return c

    def expected(self, case):
        c = self.worked(case)
        return [tensor(c.total, c.dtype)] * c.p

    def per_rank(self, case, value):
        values = value if isinstance(value, list) else [value] * case.world_size
        return [tensor(one, case.known["dtype"]) for one in values]

    def right_share(self, case: Case, run: Run, r: int) -> np.ndarray | None:
        """The mask of rank r's numbers that are those of the sum."""
        found, wanted = run.ranks[r].value, self.expected(case)[r]
        if np.shape(getattr(found, "values", None)) != np.shape(wanted.values):
            return None
        return np.isclose(np.asarray(found.values, float), np.asarray(wanted.values, float), rtol=1e-6, atol=0)

    def is_right(self, case: Case, run: Run) -> bool:
        return all(difference(w, r.value) is None for w, r in zip(self.expected(case), run.ranks, strict=True))


def summands(rng: np.random.Generator, p: int, n: int, dtype: str) -> np.ndarray:
    """The vectors of p ranks. Neither a float nor a narrower type holds an integer of theirs; float16 and float32
    hold each sum of theirs exactly, however small."""
    if dtype == "float16":
        return rng.integers(-1024 // p, 1024 // p, (p, n)).astype(dtype)
    if dtype == "float32":
        return (np.rint(2**16 * rng.normal(size=(p, n))) / 2**16).astype(dtype)
    return wide_integers(rng, (p, n), dtype, summands=p) if "int" in dtype else rng.normal(size=(p, n)).astype(dtype)


def least_between(case: Case) -> int:
    """Bytes between the nodes, of all nodes together."""
    return 2 * (case.world_size // case.known["g"] - 1) * case.known["x"].shape[1] * BYTES


def in_pieces(case: Case, pieces: float) -> float:
    """Virtual seconds of an all-reduce in pieces, one of them across the nodes while others are reduced and gathered
    inside: only for the first and the last do the nodes' cards wait. Messages cost their bytes alone."""
    g, nbytes = case.known["g"], case.known["x"].shape[1] * BYTES
    inside, count = 2 * (g - 1) / g * nbytes * case.network.inside.beta, case.world_size // g
    return least_between(case) / count * case.network.between.beta + inside / pieces


class HierarchicalAllReduce(SumExercise):
    """All-reduce on nodes: inside, across, inside"""

    signature = "hierarchical_all_reduce(x: torch.Tensor, ranks_per_node: int) -> torch.Tensor"
    levels = {"the sum": 1, "bytes between the nodes": 2, "no card idle": 1}
    mistakes = [
        Mistake("reduces_inside_twice", "Each number counts once for every rank of a node: it was summed inside, and "
                "then over all ranks.",
                "Across the nodes, add only over the ranks at the same place in their nodes.",
                lambda c: c.g * c.total),
        Mistake("inside_only", "Each rank has the sum of its node alone.", "Then sum across: one rank of each node.",
                lambda c: [c.x[r // c.g * c.g : (r // c.g + 1) * c.g].sum(axis=0) for r in range(c.p)]),
        Mistake("across_only", "Each rank has the sum over the ranks at its place in their nodes, not over its node.",
                "Sum first inside each node, then across.",
                lambda c: [c.x[r % c.g :: c.g].sum(axis=0) for r in range(c.p)]),
        Mistake("mean_for_sum", "This is the mean over the ranks, not the sum.", "Do not divide.",
                lambda c: c.total / c.p),
        Mistake("rest_left_out", "n is no multiple of g, and the last n % g numbers are still the rank's own.",
                "Use parts of unequal length, `x.tensor_split(g)`, or pad x with zeros until g divides it.",
                lambda c: [np.concatenate([c.total[: c.whole], one[c.whole :]]) for one in c.x]),
        Mistake("not_gathered_inside", "Each rank has the sum of a part only: the ranks of a node did not exchange "
                "their parts at the end.",
                "The third phase: an all-gather inside each node."),
        Mistake("only_one_of_a_node", "One rank of each node has the sum, the others do not.",
                "At the end all ranks of a node need it."),
        Mistake("too_much_between", "The sum is right, but more bytes went between the nodes than necessary.",
                "Each rank sends 1/g of its node's sum across, by a ring or by reduce-scatter and all-gather: "
                "2 (N-1)/N of its part."),
        Mistake("idle_cards", "The sum is right and the bytes between the nodes are few, but it takes longer than "
                "necessary: inside the nodes a few ranks work while others wait, or more is sent than needed.",
                "Inside a node, let all ranks reduce a part each at the same time (reduce-scatter), and spread the "
                "parts in the same way (all-gather)."),
    ]  # fmt: skip
    records = [
        Record("bytes between the nodes", "B", lambda case: case.level == "no card idle",
               lambda case, run: run.link_bytes.get("between", 0), lambda case: least_between(case),
               lambda case: least_between(case),
               "an all-reduce of N nodes' sums: each number leaves a node N - 1 times until it is summed, and N - 1 "
               "times until all have the sum (Patarasuk and Yuan 2009)."),
        Record("virtual time", "s", lambda case: case.level == "no card idle", lambda case, run: run.elapsed,
               lambda case: in_pieces(case, 60), lambda case: in_pieces(case, math.inf),
               "the nodes' cards carry no less, and here a message costs its bytes alone."),
    ]  # fmt: skip

    def cases(self, rng):
        the_sum, between, idle = self.levels
        bytes_only = {"inside": Link(0, 1e-8), "between": Link(0, 4e-8)}
        return [
            self._case(rng, level, p, g, n, **options)
            for level, p, g, n, options in (
                (the_sum, 4, 2, 12, {}),
                (the_sum, 6, 3, 7, {"late": (1,)}),
                (the_sum, 6, 2, 5, {"dtype": "float32"}),
                (the_sum, 4, 2, 1, {}),
                (the_sum, 4, 2, 6, {"dtype": "int64"}),
                (the_sum, 4, 2, 6, {"dtype": "int32"}),
                (the_sum, 3, 1, 4, {}),
                (the_sum, 3, 3, 8, {}),
                (the_sum, 1, 1, 5, {}),
                (between, 6, 3, 360, {}),
                (between, 6, 2, 360, {"dtype": "float32"}),
                (idle, 6, 3, 360, bytes_only),
                (between, 6, 3, 6, {"dtype": "int32"}),  # short, and int64 in its place is too many bytes
                (between, 6, 2, 120, {"dtype": "float16"}),  # so is float32
            )
        ]

    @staticmethod
    def _case(rng, level, p, g, n, dtype="float64", late=(), **links):
        known = {"x": summands(rng, p, n, dtype), "g": g, "dtype": dtype}
        arguments = [(tensor(one, dtype), g) for one in known["x"]]
        says = f"{p // g} nodes of {g}, n = {n}, {dtype}"
        return Case(level, p, arguments, says, known, late=late, network=nodes(g, **links))

    def worked(self, case):
        c = super().worked(case)
        c.whole = c.x.shape[1] // c.g * c.g  # numbers in g parts of the same length
        return c

    def facts(self, case: Case, run: Run):
        p, g, n, size = case.world_size, case.known["g"], case.known["x"].shape[1], case.known["x"].itemsize
        count = p // g
        if not self.is_right(case, run):
            return self._halfway(case, run, p, g)
        links = run.link_bytes
        least = 2 * (count - 1) * n * size
        if case.level != list(self.levels)[0] and links.get("between", 0) > least + 0.5:
            return Finding("too_much_between", f"{links['between']:,.0f} B; {least:,} would do.")
        if case.level == list(self.levels)[2]:
            inside, between = case.network.inside.beta, case.network.between.beta
            bound = 2 * n * size * ((g - 1) / g * inside + (count - 1) / count * between)
            if run.elapsed > 1.1 * bound:
                return Finding("idle_cards", f"It took {run.elapsed * 1e6:.0f} virtual us; {bound * 1e6:.0f} would do.")
        return None

    def _halfway(self, case, run, p, g):
        right = [self.right_share(case, run, r) for r in range(p)]
        if g == 1 or any(one is None for one in right):
            return None
        whole = [one.all() for one in right]
        if any(whole) and all(sum(whole[i : i + g]) == 1 for i in range(0, p, g)):
            return "only_one_of_a_node"
        n = case.known["x"].shape[1]
        covered = all(np.any(right[i : i + g], axis=0).all() for i in range(0, p, g))
        return "not_gathered_inside" if n >= g and covered and not any(whole) else None


def rest_not_summed(c) -> list[np.ndarray]:
    """The vector of each rank if the entries behind q chunks of n // q are summed with those of the partner only."""
    found, cut = np.tile(c.total, (c.p, 1)), c.x.shape[1] // c.q * c.q
    found[:, cut:] = c.x[:, cut:]
    found[: c.p - c.q, cut:] += c.x[c.q :, cut:]
    found[c.q :, cut:] = found[: c.p - c.q, cut:]
    return list(found)


class HalvingDoubling(SumExercise):
    """All-reduce by halving and doubling"""

    signature = "halving_doubling(x: torch.Tensor) -> torch.Tensor"
    levels = {"the sum": 1, "messages and bytes": 2, "any number of ranks": 2}
    mistakes = [
        Mistake("not_doubled", "Each rank has the sum of its part only: the parts were not put together again.",
                "Exchange with the same partners in the opposite order; each gives the other what it has."),
        Mistake("extra_ranks_left_out", "The vectors of the ranks beyond the power of two are not in the sum.",
                "Before the halving each of them gives its vector to a partner below.",
                lambda c: c.q < c.p and c.x[: c.q].sum(axis=0)),
        Mistake("extra_ranks_stand_aside", "The ranks beyond the power of two neither gave nor got anything.",
                "Before the halving each gives its vector to a partner below, and afterwards it gets the sum from it.",
                lambda c: c.q < c.p and [c.x[: c.q].sum(axis=0) if r < c.q else c.x[r] for r in range(c.p)]),
        Mistake("extra_ranks_not_told", "The sum is complete, but the ranks beyond the power of two do not get it.",
                "At the end each gets it from the partner to whom it gave its vector.",
                lambda c: c.q < c.p and [c.total if r < c.q else c.x[r] for r in range(c.p)]),
        Mistake("rest_not_summed", "The entries after the q equal chunks were left out of the halving: each rank "
                "still has its own there, perhaps plus those of its partner beyond the power of two.",
                "Let the halves differ by one entry, as `tensor_split(2)` does: every entry belongs to some chunk.",
                rest_not_summed),
        Mistake("too_many_messages", "The sum is right, but the ranks sent more messages than 2 log2 p.",
                "In step k the partner is `rank ^ d`, d halving from p / 2 to 1, and back."),
        Mistake("sends_the_padding", "The sum is right, but x was filled up with zeros until q divides it, and these "
                "were sent, too.",
                "Let the halves differ by one entry, as `tensor_split(2)` does: a message then has one more at most."),
        Mistake("sends_a_wider_type", "The sum is right and the messages are few, but they carry numbers of a wider "
                "type than those of x.",
                "Send and add in the dtype of x, whichever it is."),
        Mistake("sends_the_whole_vector", "The sum is right and the messages are few, but they are too large.",
                "Give the half that your partner keeps, keep the other one, and halve that in the next step."),
        Mistake("uses_collective", "A collective was called: it chooses its own messages.",
                "Build it from `isend`, `irecv`, `send` and `recv`."),
        Mistake("uses_all_reduce", "`all_reduce` is what this page takes apart.",
                "Build it from `isend`, `irecv`, `send` and `recv`."),
    ]  # fmt: skip
    records = [
        Record("bytes sent by all ranks", "B", lambda case: case.known["x"].shape == (8, 80),
               lambda case, run: over_the_links(run), lambda case: 2 * 7 * case.known["x"][0].nbytes,
               lambda case: 2 * 7 * case.known["x"][0].nbytes,
               "each number travels p - 1 times until it is summed and p - 1 times until all have the sum (Patarasuk "
               "and Yuan 2009)."),
        Record("virtual time", "s", lambda case: case.known["x"].shape == (8, 80), lambda case, run: run.elapsed,
               lambda case: 2 * sum(case.network.between.seconds(case.known["x"][0].nbytes / k) for k in (2, 4, 8))),
    ]  # fmt: skip

    def cases(self, rng):
        the_sum, few, any_ = self.levels
        return [
            self._case(rng, level, p, n, dtype, late)
            for level, p, n, dtype, late in (
                (the_sum, 2, 6, "float64", ()),
                (the_sum, 4, 8, "float32", (2,)),
                (the_sum, 4, 5, "float64", ()),
                (the_sum, 4, 2, "float64", ()),
                (the_sum, 4, 6, "int64", ()),
                (the_sum, 2, 3, "int32", ()),
                (few, 4, 400, "float64", ()),
                (few, 4, 397, "float16", ()),  # float32 in its place, or zeros that make it 400 are too many bytes
                (few, 8, 80, "float64", ()),
                (few, 8, 7, "float64", ()),  # one entry less than ranks: too short to be sent whole
                (any_, 3, 7, "float64", (2,)),
                (any_, 5, 120, "float64", ()),
                (any_, 6, 8, "float64", ()),
                (any_, 3, 1, "float64", ()),
                (any_, 1, 4, "float64", ()),
                (few, 4, 40, "int32", ()),  # int64 in its place is too many bytes
                (any_, 5, 5, "float64", ()),  # and so are zeros that make it 8
            )
        ]

    @staticmethod
    def _case(rng, level, p, n, dtype, late):
        known = {"x": summands(rng, p, n, dtype), "q": 1 << (p.bit_length() - 1), "dtype": dtype}
        return Case(level, p, [(tensor(one, dtype),) for one in known["x"]], f"n = {n}, {dtype}", known, late=late)

    def facts(self, case: Case, run: Run):
        if found := forbidden_collective(run):
            return found
        p, q, n, size = case.world_size, case.known["q"], case.known["x"].shape[1], case.known["x"].itemsize
        if not self.is_right(case, run):
            right = [self.right_share(case, run, r) for r in range(q)]
            halves = all(one is not None and one.any() and not one.all() for one in right)
            return "not_doubled" if halves and p == q and n >= p and np.any(right, axis=0).all() else None
        if case.level == list(self.levels)[0]:
            return None
        steps, extra = 2 * (q.bit_length() - 1), 2 * (q < p)
        sends, sent = (max(getattr(rank, name) for rank in run.ranks) for name in ("sends", "sent_bytes"))
        if sends > steps + extra:
            return Finding("too_many_messages", f"A rank sent {sends} messages; {steps + bool(extra)} would do.")
        most = (2 * (q - 1) / q * n + steps + (extra > 0) * n) * size
        padded = -(-n // q) * q
        if most < sent <= (2 * (q - 1) / q + (extra > 0)) * padded * size:
            return Finding("sends_the_padding", f"A rank sent {sent:,} B; {most:,.0f} would do.")
        if n > q == p > 2 and any(abs(sent / wide - 2 * (q - 1) / q * n * size) <= steps * size for wide in (2, 4)):
            return Finding("sends_a_wider_type", f"A rank sent {sent:,} B; {most:,.0f} would do.")
        if sent > most:
            return Finding("sends_the_whole_vector", f"A rank sent {sent:,} B; {most:,.0f} would do.")
        return None


# -- compression -------------------------------------------------------------------------------------------------------


class FeedbackExercise(ReportExercise):
    """A compressed mean in several steps, with the error carried along. The report: what came back in each step, and
    this rank's error at the end.
    """

    parts = ("means", "error")
    slips: dict[str, str] = {}

    def simulate(self, c, slip=""):
        raise NotImplementedError

    def worked(self, case):
        c = super().worked(case)
        c.of = lambda slip: self._reports(c, slip)
        return c

    def _reports(self, c, slip):
        means, error = self.simulate(c, slip)
        return [{"means": [tensor(one) for one in means], "error": tensor(error[r])} for r in range(c.p)]

    def expected(self, case):
        return self._reports(super().worked(case), "")


class TopKMean(FeedbackExercise):
    """The k largest, and what is left for later"""

    signature = "top_k_mean(gradient: torch.Tensor, error: torch.Tensor, k: int) -> torch.Tensor"
    inputs = ("error",)
    levels = {"one step": 1, "error feedback over many steps": 2, "bytes": 1}
    harness = harness_of(__file__, "top_k_mean")
    mistakes = [
        DROPS_ERROR.giving(lambda c: c.of("drops_the_error")),
        Mistake("error_added_after_selection", "The k entries are chosen by the gradient alone, without the error: an "
                "entry that is always small is never sent.",
                "Add the error first, then choose.", lambda c: c.of("error_added_after_selection")),
        FORGETS_OLDER.giving(lambda c: c.of("forgets_older_errors")),
        Mistake("keeps_what_was_sent", "What was sent is still in the error: it will be sent again.",
                "`error` is 0 where something was sent.", lambda c: c.of("keeps_what_was_sent")),
        Mistake("clears_what_others_sent", "A rank's error is 0 also where only other ranks have sent: its own entries "
                "there are lost.",
                "Set `error` to 0 at the rank's own indices alone.", lambda c: c.of("clears_what_others_sent")),
        Mistake("counts_the_error_twice", "What was left was added to the error, which is in it already: it counts "
                "twice.",
                "The new error takes the place of the old one: `error.copy_(...)`.",
                lambda c: c.of("counts_the_error_twice")),
        Mistake("averages_positions", "The values of all ranks were added at the indices of the first one.",
                "Each rank chooses its own entries: gather the indices, too.",
                lambda c: c.of("averages_positions")),
        Mistake("overwrites_the_same_index", "Where several ranks chose the same entry, only one of them counts.",
                "Add: `mean.index_add_(0, indices, values)`.", lambda c: c.of("overwrites_the_same_index")),
        Mistake("largest_not_in_magnitude", "Large negative entries are never chosen.", "Choose by the magnitude.",
                lambda c: c.of("largest_not_in_magnitude")),
        SUM_FOR_MEAN.giving(lambda c: c.of("sum_for_mean")),
        Mistake("mean_of_senders", "An entry was divided by the number of ranks that sent it.",
                "A rank that did not send it counts as zero: divide by the number of all ranks.",
                lambda c: c.of("mean_of_senders")),
        Mistake("error_of_the_mean", "The error is this rank's gradient + error minus the mean.",
                "It is what this rank itself has not sent: gradient + error, with zeros where it sent.",
                lambda c: c.of("error_of_the_mean")),
        TOO_MANY_BYTES.but(how="Each rank sends k values and k indices, 16 k bytes, and no zeros."),
        Mistake("ranks_differ", "The means are right to the last digits, and in these the ranks differ: they added in "
                "different orders, and rounding depends on the order.",
                "Add the ranks' values in one order everywhere, for example that of the ranks."),
    ]  # fmt: skip

    def cases(self, rng):
        one, many, few = self.levels
        return [
            self._case(rng, level, p, n, k, steps, *rest)
            for level, p, n, k, steps, *rest in (
                (one, 3, 10, 3, 1, ()),
                (one, 2, 6, 6, 1, (1,)),
                (one, 1, 8, 2, 1, ()),
                (one, 2, 40_000, 3, 1, ()),
                (many, 3, 12, 2, 6, (0,)),
                (many, 4, 9, 1, 8, ()),
                (few, 4, 400, 4, 3, ()),
                (one, 5, 12, 9, 1, ()),  # so many that the order of a sum shows
                (few, 3, 10, 3, 1, ()),  # fewer bytes than the whole vector's, although k is large
                (one, 2, 3, 3, 1, (), True),
            )
        ]

    @staticmethod
    def _case(rng, level, p, n, k, steps, late, zero=False):
        """Every step chooses negative entries, and some that another rank has chosen, too. zero: whether rank 0's last
        entry is 0 at first: with k = n it is chosen all the same."""
        common = rng.normal(size=n) * (1 + 2 * (np.arange(n) < 2 * k)) - 0.5 * (np.arange(n) < k)
        gradients = common + 0.5 * rng.normal(size=(steps, p, n))
        gradients[:, :, 0] = -4.0 - rng.uniform(0, 1, (steps, p))  # the same entry on all ranks, and negative
        if n > 2**15:  # far down, where an index of 16 bits does not reach
            gradients[:, :, -1] = 9.0 + rng.uniform(0, 1, (steps, p))
        if zero:
            gradients[0, 0, -1] = 0.0
        known = {"gradients": gradients, "k": k}
        arguments = [([tensor(g) for g in gradients[:, r]], k) for r in range(p)]
        return Case(level, p, arguments, f"n = {n}, k = {k}, {steps} steps", known, late=late)

    def simulate(self, c, slip=""):
        return top_k(c.gradients, c.k, slip)

    def needs_bytes(self, case):
        return [BYTES * (case.world_size > 1)] * case.world_size

    def facts(self, case: Case, run: Run):
        steps, p, _ = case.known["gradients"].shape
        most = 16 * case.known["k"] * steps
        given = max(rank.collective_bytes + rank.sent_bytes / max(1, p - 1) for rank in run.ranks)
        if case.level == list(self.levels)[2] and given > most:
            return Finding("too_many_bytes", f"A rank gave {given:,.0f} B in {steps} steps; {most} would do.")
        values = [rank.value for rank in run.ranks]
        if case.level != list(self.levels)[0] or not fits(case, self.expected(case), values):
            return None
        first, *others = (value["means"] for value in values)
        return Finding("ranks_differ") if any(difference(first, one, 0.0, 0.0) for one in others) else None


class PowerSgd(FeedbackExercise):
    """A matrix as a product of two thin ones"""

    signature = "power_sgd(gradient: torch.Tensor, q: torch.Tensor, error: torch.Tensor) -> torch.Tensor"
    inputs = ("q", "error")
    parts = ("means", "error", "q q^T")
    levels = {"one step": 1, "several steps": 2, "two small collectives": 1}
    harness = harness_of(__file__, "power_sgd")
    mistakes = [
        DROPS_ERROR.giving(lambda c: c.of("drops_the_error")),
        FORGETS_OLDER.giving(lambda c: c.of("forgets_older_errors")),
        Mistake("starts_again", "Every step begins with the same q: the approximation gets no better.",
                "Write the new right factor into q: `q.copy_(...)`.", lambda c: c.of("starts_again")),
        Mistake("rebinds", "The names `q` and `error`, or their `.data`, now refer to new tensors; those of the caller "
                "did not change.", "In place: `q.copy_(...)`, `error.copy_(...)`.",
                lambda c: c.of("rebinds")),
        Mistake("own_q", "Each rank kept its own M^T P in q, not the mean: the ranks go on from different factors.",
                "Copy the right factor into q after its all-reduce.", lambda c: c.of("own_q")),
        Mistake("not_orthogonal", "The columns of the left factor are not orthonormal: the product is no projection.",
                "`torch.linalg.qr(left)[0]`.", lambda c: c.of("not_orthogonal")),
        Mistake("never_summed_left", "The left factor comes from one rank's matrix.",
                "All-reduce it before you orthogonalise it.", lambda c: c.of("never_summed_left")),
        Mistake("orthonormal_too_soon", "Each rank made its own left factor orthonormal; the mean of such factors is "
                "not orthonormal.", "First the mean of all ranks' M Q, then make it orthonormal.",
                lambda c: c.of("orthonormal_too_soon")),
        Mistake("columns_alone", "The columns of the left factor have length one, but are not at right angles: the "
                "product is no projection.", "`torch.linalg.qr(left)[0]`.", lambda c: c.of("columns_alone")),
        Mistake("error_of_own_factor", "The error is measured against this rank's own M^T P, not against the "
                "approximation.",
                "All-reduce the right factor first: error = gradient + error - P Q^T, with the mean Q.",
                lambda c: c.of("error_of_own_factor")),
        Mistake("orthonormal_q", "The approximations are right, but q is not the mean of the ranks' M^T P: its columns "
                "were made orthonormal, or are those of another matrix of the same span.",
                "Only P is made orthonormal; q keeps M^T P as it is.", lambda c: c.of("orthonormal_q")),
        Mistake("sum_in_q", "The approximations are right, but q holds the sum of the ranks' M^T P.",
                "The mean: divide it by the number of ranks before it goes into q.", lambda c: c.of("sum_in_q")),
        SUM_FOR_MEAN.giving(lambda c: c.of("sum_for_mean")),
        TOO_MANY_BYTES.but(how="Send only the two thin factors: (rows + columns) x r numbers."),
        TOO_MANY,
    ]  # fmt: skip

    def cases(self, rng):
        one, many, few = self.levels
        return [
            self._case(rng, level, p, shape, rank, steps, late)
            for level, p, shape, rank, steps, late in (
                (one, 3, (6, 4), 2, 1, ()),
                (one, 2, (3, 5), 3, 1, (1,)),
                (one, 1, (4, 3), 2, 1, ()),
                (many, 3, (5, 6), 1, 4, (0,)),
                (many, 2, (7, 4), 2, 4, ()),
                (few, 4, (24, 20), 2, 2, ()),
            )
        ]

    @staticmethod
    def _case(rng, level, p, shape, rank, steps, late):
        gradients = rng.normal(size=shape) + rng.normal(size=(steps, p, *shape))
        q = np.linalg.qr(rng.normal(size=(shape[1], rank)))[0] + 0.25
        known = {"gradients": gradients, "q": q, "rank": rank}
        arguments = [([tensor(g) for g in gradients[:, r]], tensor(q)) for r in range(p)]
        says = f"{shape[0]} x {shape[1]}, rank {rank}, {steps} steps"
        return Case(level, p, arguments, says, known, late=late)

    def _reports(self, c, slip):
        means, error, q = power_sgd(c.gradients, c.q, slip)
        shared, qs = {"means": [tensor(one) for one in means]}, q if q.ndim == 3 else [q] * c.p
        return [{**shared, "error": tensor(error[r]), "q q^T": tensor(qs[r] @ qs[r].T)} for r in range(c.p)]

    def needs_bytes(self, case):
        return [BYTES * (case.world_size > 1)] * case.world_size

    def facts(self, case: Case, run: Run):
        steps, p, rows, columns = case.known["gradients"].shape
        if case.level != list(self.levels)[2]:
            return None
        most = 2 * (p - 1) * (rows + columns) * case.known["rank"] * BYTES * steps
        if over_the_links(run) > most + 0.5:
            return Finding("too_many_bytes", f"{over_the_links(run):,.0f} B on the links; {most:,} would do.")
        if (calls := called(run)) > 2 * steps:
            return Finding("too_many_collectives", f"A rank called {calls}; {2 * steps} would do.")
        return None


# -- rounds of local steps ---------------------------------------------------------------------------------------------


GRADIENT = 1e-3  # virtual seconds of a gradient of `diloco`


def gradient_of_a_rank(slopes: np.ndarray, target: np.ndarray, w: np.ndarray) -> tuple[float, str, np.ndarray]:
    """(virtual seconds that a rank of `diloco` pays, the timeline's label, its gradient at `w`)."""
    return GRADIENT, "G", slopes * (w - target)


class Diloco(Exercise):
    """Many steps alone, one together"""

    signature = (
        "diloco(w: torch.Tensor, gradient: Callable, steps: int, every: int, lr: float, outer_lr: float, mu: float)"
        " -> torch.Tensor"
    )
    levels = {"local SGD": 1, "Nesterov's momentum outside": 2, "one collective a round": 1}
    all_hear = True
    harness = harness_of(__file__, "diloco")
    mistakes = [
        Mistake("averages_only", "The weights were averaged; there is no outer step.",
                "The outer gradient is `start - mean of the weights`; step along it with outer_lr and momentum.",
                lambda c: c.of("averages_only")),
        Mistake("averages_in_every_step", "The ranks' weights were averaged after every inner step.",
                "Within a round the ranks do not communicate.", lambda c: c.of("averages_in_every_step")),
        Mistake("wrong_sign", "The outer step goes away from where the ranks went.",
                "delta = start - mean of the weights, and start - outer_lr * ...", lambda c: c.of("wrong_sign")),
        SUM_FOR_MEAN.giving(lambda c: c.of("sum_for_mean")),
        Mistake("sum_of_the_weights", "delta was measured from the sum of the ranks' weights, not from their mean.",
                "Divide the sum by the number of ranks.", lambda c: c.of("sum_of_the_weights")),
        Mistake("gradient_of_the_start", "All inner steps of a round take the gradient at its start.",
                "Each takes it at the weights of this moment: `gradient(local)`.",
                lambda c: c.of("gradient_of_the_start")),
        Mistake("goes_on_from_the_mean", "The next round begins with the mean of the weights, not with the new start.",
                "After the outer step all ranks continue from `start`.", lambda c: c.of("goes_on_from_the_mean")),
        Mistake("no_momentum", "The outer step has no momentum.", "v = mu v + delta.", lambda c: c.of("no_momentum")),
        Mistake("heavy_ball", "The outer step goes along v: that is plain momentum, not Nesterov's.",
                "Along delta + mu v, with the v of this round.", lambda c: c.of("heavy_ball")),
        Mistake("momentum_begins_again", "v starts from zero in every round.",
                "It belongs to the outer optimizer: keep it through all rounds.",
                lambda c: c.of("momentum_begins_again")),
        Mistake("measures_from_the_first", "Every round's delta is measured from the initial weights.",
                "Measure from the weights with which this round began.", lambda c: c.of("measures_from_the_first")),
        Mistake("goes_on_from_its_own", "After the outer step each rank goes on from its own weights.",
                "All begin the next round with the new weights.", lambda c: c.of("goes_on_from_its_own")),
        Mistake("drops_the_short_round", "Where `every` does not divide `steps`, the last round has no outer step.",
                "A round ends after `every` steps or with the last one.", lambda c: c.of("drops_the_short_round")),
        Mistake("skips_the_rest", "Where `every` does not divide `steps`, the steps left over were not taken.",
                "The last round is shorter: steps % every inner steps, then the outer one.",
                lambda c: c.of("skips_the_rest")),
        Mistake("whole_last_round", "The last round has `every` steps, where fewer were left.",
                "There are `steps` inner steps in all.", lambda c: c.of("whole_last_round")),
        Mistake("one_outer_step_too_many", "After the last round there was one more outer step, along the momentum.",
                "The last step ends only one round.", lambda c: c.of("one_outer_step_too_many")),
        Mistake("start_moves", "`start` moved along with the inner steps: delta is measured from this rank's own "
                "weights. A second name is not a copy.", "local = start.clone()", lambda c: c.of("start_moves")),
        TOO_MANY,
        TOO_MANY_BYTES.but(how="Once a round, n numbers: one all-reduce of the weights, or of delta. The momentum is "
                               "the same on every rank and need not be sent."),
        Mistake("computes_too_much", "The weights are right, but gradients were computed that nobody needs.",
                "Compute one for each inner step."),
    ]  # fmt: skip

    def cases(self, rng):
        local, outside, once = self.levels
        return [
            self._case(rng, level, p, *rest)
            for level, p, *rest in (
                (local, 3, 5, 6, 3, 1.0, 0.0, ()),
                (local, 2, 4, 5, 2, 1.0, 0.0, (1,)),
                (outside, 3, 4, 8, 2, 0.7, 0.9, ()),
                (outside, 2, 6, 7, 3, 0.5, 0.6, (0,)),
                (outside, 4, 3, 2, 4, 0.7, 0.9, ()),
                (once, 4, 200, 8, 4, 0.7, 0.8, ()),
                (outside, 1, 4, 6, 3, 0.7, 0.9, ()),
                (outside, 3, 4, 4, 1, 0.7, 0.9, ()),  # every step is a round
                (outside, 2, 4, 4, 2, 0.5, 0.0, ()),  # half the way to the mean, without momentum
            )
        ]

    @staticmethod
    def _case(rng, level, p, n, steps, every, outer_lr, mu, late):
        known = {"w": rng.normal(size=n), "slopes": rng.uniform(0.5, 2, (p, n)), "steps": steps, "every": every}
        known |= {"targets": rng.normal(size=(p, n)), "lr": 0.1, "outer_lr": outer_lr, "mu": mu}
        own = list(zip(known["slopes"], known["targets"], strict=True))
        judges = [name_of(r, *known_to_it) for r, known_to_it in enumerate(own)]
        form = (((n,), "float64"),)
        told = [Answer(partial(gradient_of_a_rank, *known_to_it), form) for known_to_it in own]
        arguments = [(tensor(known["w"]), judge, steps, every, 0.1, outer_lr, mu) for judge in judges]
        says = f"{steps} steps, rounds of {every}, outer_lr {outer_lr}, mu {mu}"
        return Case(level, p, arguments, says, known, late=late, answers=dict(zip(judges, told, strict=True)))

    def worked(self, case):
        c = super().worked(case)
        c.of = lambda slip: [tensor(one) for one in diloco(c, slip)]
        return c

    def expected(self, case):
        return self.worked(case).of("")

    def facts(self, case: Case, run: Run):
        k, p = case.known, case.world_size
        right = all(difference(w, r.value) is None for w, r in zip(self.expected(case), run.ranks, strict=True))
        if not right:
            return None
        if max(rank.busy for rank in run.ranks) > (k["steps"] + 0.5) * GRADIENT:
            return "computes_too_much"
        if case.level != list(self.levels)[2]:
            return None
        rounds = math.ceil(k["steps"] / k["every"])
        if (calls := called(run)) > rounds:
            return Finding("too_many_collectives", f"A rank called {calls} in {rounds} rounds.")
        most = 2 * (p - 1) * len(k["w"]) * BYTES * rounds
        if over_the_links(run) > most + 0.5:
            return Finding("too_many_bytes", f"{over_the_links(run):,.0f} B on the links; {most:,} would do.")
        return None

    def needs_bytes(self, case):
        """The bytes of what the others have found in the last round, at least, if that moves the weights."""
        moves = case.world_size > 1 and case.known["outer_lr"] > 0
        return [moves * BYTES * len(case.known["w"])] * case.world_size

    def contradiction(self, case, run):
        return run.uncharged(case.known["steps"] * GRADIENT)
