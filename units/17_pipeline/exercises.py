"""Unit 17, pipeline: layers partitioned into stages, orders of micro-batches, their bubble and their activations."""

from __future__ import annotations

import itertools
import math

import numpy as np

from autograder.exercise import ANYTHING, Case, Finding, Mistake, Record, Run, Tensor
from autograder.exercises.kinds import PlainExercise, ReportExercise, fits, on_ranks, refused
from autograder.exercises.readings.messages import collective
from autograder.exercises.readings.orders import OrderExercise, in_turn, replayed
from autograder.exercises.readings.stages import (
    BACKWARD,
    FORWARD,
    backward_of,
    begun_at_a_time,
    best_parts,
    equal_counts,
    filled_to_the_mean,
    gradients,
    input_gradient,
    last_loss,
    loss_of_the_last_rank,
    of_the_last_alone,
    slowest,
    stage_contradiction,
    weight_gradient,
)
from autograder.exercises.source import harness_of, reference_of
from autograder.values import full_precision
from labkit.interconnect.topology import flat
from labkit.schedules import replay

NETWORK = flat(1e-6, 1e-11)  # messages that cost next to nothing
SLACK = 1.01  # for those messages


# -- the bubble ------------------------------------------------------------------------------------


def bubble(p: int, m: int, v: int = 1) -> float:
    return (p - 1) / (v * m + p - 1)


class Bubble(PlainExercise):
    """The fraction of the time in which a rank is idle"""

    signature = "bubble(p: int, m: int, v: int = 1) -> float"
    harness = harness_of(__file__, "by_default")
    withheld = ("labkit.scale.formula.bubble",)
    levels = {"one chunk per rank": 1, "v chunks per rank": 1}
    mistakes = [
        Mistake("one_at_a_time", "This is the share if one micro-batch goes through the whole pipeline before the next "
                "begins. Here they follow each other.",
                "Count the slots: the last rank begins p - 1 slots late and is done m slots later.",
                lambda c: (c.p - 1) / c.p),
        Mistake("share_of_the_work", "This is the idle time divided by the working time, not by the total time.",
                "Divide by the total: working time and idle time.", lambda c: (c.p - 1) / (c.v * c.m)),
        Mistake("the_busy_share", "This is the share in which a rank works.", "Subtract it from 1.",
                lambda c: 1 - bubble(c.p, c.m, c.v)),
        Mistake("percent", "This is the share in percent.", "Return a number from 0 to 1.",
                lambda c: 100 * bubble(c.p, c.m, c.v)),
        Mistake("p_slots_idle", "There is one idle slot too many: the first rank begins immediately, the last after p "
                "- 1 slots.",
                "p - 1 slots of m + p - 1.", lambda c: c.p / (c.v * c.m + c.p)),
        Mistake("forgets_the_chunks", "The chunks are not counted: with v chunks a slot is v times shorter, and a rank "
                "has v m of them to work in.",
                "The idle slots stay p - 1, the slots of work are v m.", lambda c: bubble(c.p, c.m)),
        Mistake("two_chunks_at_most", "More than two chunks count as two.", "A rank works in v m slots, whatever v is.",
                lambda c: bubble(c.p, c.m, min(c.v, 2))),
        Mistake("divides_the_share", "The share of one chunk was divided by v. With v chunks the idle time is v times "
                "shorter, but the work takes as long as before.",
                "The idle slots stay p - 1, the slots of work are v m.", lambda c: bubble(c.p, c.m) / c.v),
        Mistake("longer_with_chunks", "The chunks make the pipeline longer here: v p stages in a row. But a rank has v "
                "of them, and works while its other chunks wait.",
                "The idle slots stay p - 1, the slots of work are v m.",
                lambda c: (c.v * c.p - 1) / (c.m + c.v * c.p - 1)),
        Mistake("at_least_p", "Fewer micro-batches than ranks count as p of them.",
                "The formula holds for any m: a pipeline that is never full is idle for longer.",
                lambda c: bubble(c.p, max(c.m, c.p), c.v)),
        Mistake("rounded", "The share is right but for rounding.", "Return all digits; round only where you print."),
        Mistake("ValueError", "This is possible, but the function raised a ValueError.",
                "The bubble has a value for every m: also where p does not divide it."),
    ]  # fmt: skip

    def draw(self, rng):
        for p, m in ((4, 8), (8, 16), (2, int(rng.integers(5, 40))), (int(rng.integers(5, 9)), 3), (1, 5)):
            yield "one chunk per rank", {"p": p, "m": m, "v": 1}
        for p, m, v in ((4, 8, 2), (4, 8, 4), (3, 3 * int(rng.integers(2, 9)) + 1, 5)):
            yield "v chunks per rank", {"p": p, "m": m, "v": v}
        for level, v in (("one chunk per rank", 1), ("v chunks per rank", 2)):
            yield level, {"p": 2, "m": 10**6, "v": v}  # no recursion gets as deep
        yield "v chunks per rank", {"p": 4, "m": 2, "v": 2}

    def draw_further(self, rng):
        for p in map(int, rng.integers(9, 90, 2)):
            yield "one chunk per rank", {"p": p, "m": int(rng.integers(1, 900)), "v": 1}
            yield "v chunks per rank", {"p": p, "m": int(rng.integers(2, 900)), "v": int(rng.integers(2, 9))}

    reference = reference_of(__file__, "right_formula")

    def right(self, p, m, v):
        return bubble(p, m, v)

    def read(self, answer, p, m, v):
        share = isinstance(answer, float) and bubble(p, m, v)
        return "rounded" if share and answer in [round(share, digits) for digits in range(2, 9)] else None


def enough(p: int, share: float, v: int) -> int:
    m = enough_without_groups(p, share, v)
    return m if v == 1 else math.ceil(m / p) * p


def enough_without_groups(p: int, share: float, v: int) -> int:
    return next(m for m in itertools.count(1) if bubble(p, m, v) <= share)


class EnoughMicroBatches(PlainExercise):
    """The smallest number of micro-batches that is enough"""

    signature = "enough_micro_batches(p: int, share: float, v: int = 1) -> int"
    harness = harness_of(__file__, "by_default")
    levels = {"one chunk per rank": 1, "v chunks per rank": 1}
    uses = ("bubble",)
    mistakes = [
        Mistake("one_too_few", "With this number the bubble is still larger than `share`.", "Round up.",
                lambda c: c.right - 1 if c.v == 1 and c.right > 1 else None),
        Mistake("four_per_rank", "Four micro-batches per rank, whatever share is asked for.",
                "Solve (p - 1) / (v m + p - 1) <= share for m, or try one m after the other.", lambda c: 4 * c.p),
        Mistake("one_too_many", "One fewer is enough: a bubble of exactly `share` is allowed.",
                "<=, not <. And rounding may push `ceil` up by one: try one m after the other.",
                lambda c: c.right + 1 if c.v == 1 and bubble(c.p, c.right) == c.share else None),
        Mistake("multiple_of_p_anyway", "Fewer are enough: with one chunk per rank, m need not be a multiple of p.",
                "Round up to a multiple of p only when v > 1.",
                lambda c: math.ceil(c.right / c.p) * c.p if c.v == 1 else None),
        Mistake("none_at_all", "One rank alone has no bubble, and where share = 1 any bubble will do. But the "
                "minibatch is at least one micro-batch.",
                "At least 1, or p with chunks.", lambda c: 0 if c.p == 1 or c.share == 1 else None),
        Mistake("no_multiple_of_p", "This number of micro-batches cannot be interleaved: with chunks m must be a "
                "multiple of p.",
                "Round up to the next multiple of p when v > 1.",
                lambda c: enough_without_groups(c.p, c.share, c.v) if c.v > 1 else None),
        Mistake("one_group_too_many", "One group of p fewer is enough: the number was already a multiple of p, but was "
                "rounded up all the same.",
                "math.ceil(m / p) * p leaves a multiple of p as it is; m + (p - m % p) does not. And rounding may push "
                "`ceil` up by one: try one multiple after the other.",
                lambda c: c.right + c.p if c.v > 1 and enough_without_groups(c.p, c.share, c.v) % c.p == 0 else None),
        Mistake("forgets_the_chunks", "This is what one chunk per rank needs. With v chunks fewer micro-batches are "
                "enough.",
                "The bubble is (p - 1) / (v m + p - 1).",
                lambda c: math.ceil(enough(c.p, c.share, 1) / c.p) * c.p if c.v > 1 else None),
        Mistake("multiple_of_v_p", "Fewer are enough: the number of micro-batches was made a multiple of v p.",
                "A multiple of p is enough: a group of p micro-batches goes through all v chunks.",
                lambda c: math.ceil(c.right / (c.v * c.p)) * c.v * c.p if c.v > 1 else None),
        Mistake("share_of_the_work", "The idle time was compared with the working time, not with the total time.",
                "The bubble is (p - 1) / (v m + p - 1).",
                lambda c: math.ceil((c.p - 1) / c.share - 1e-12) if c.v == 1 and c.p > 1 else None),
    ]  # fmt: skip

    def draw(self, rng):
        share = int(rng.integers(60, 90)) / 1000
        exact = (4, 0.2), (64, 0.05), (6, 5 / 8), (10, 9 / 29), (5, 1.0)
        below = (4, 0.1 - 1e-10)  # a little less than 27 micro-batches leave
        for p, part in ((4, 0.3), (8, share), (int(rng.integers(10, 17)), share), (1, 0.5), *exact, below):
            yield "one chunk per rank", {"p": p, "share": part, "v": 1}
        for p, part, v in ((4, 0.2, 3), (4, 0.16, 2), (5, 0.13, 3), (4, 1.0, 2), (1, 0.5, 3)):
            yield "v chunks per rank", {"p": p, "share": part, "v": v}
        for p, v in ((8, 3), (5, 2)):
            shares = (n / 1000 for n in itertools.count(int(rng.integers(40, 50))))
            part = next(s for s in shares if self._tells(p, s, v))
            yield "v chunks per rank", {"p": p, "share": part, "v": v}
        yield "one chunk per rank", {"p": 401, "share": 0.0322, "v": 1}  # more than ten thousand
        yield "v chunks per rank", {"p": 8, "share": 7 / 71, "v": 4}  # exactly 16, and a little more by some formulas

    def draw_further(self, rng):
        for _ in range(2):
            share = float(rng.uniform(0.05, 0.6))
            yield "one chunk per rank", {"p": int(rng.integers(17, 60)), "share": share, "v": 1}
            yield "v chunks per rank", {"p": int(rng.integers(4, 20)), "share": share, "v": int(rng.integers(2, 5))}

    @staticmethod
    def _tells(p: int, share: float, v: int) -> bool:
        ungrouped = enough_without_groups(p, share, v)
        exact = (p - 1) * (1 - share) / (share * v)
        return ungrouped % p not in (0, p - 1) and abs(exact - round(exact)) > 1e-3

    def right(self, p, share, v):
        return enough(p, share, v)


# -- partitioning the layers -----------------------------------------------------------------------

NOT_REFUSED = Mistake("not_refused", "This is impossible, but the function returned something.",
                      "Raise a ValueError before anything else.")  # fmt: skip


class Partition(PlainExercise):
    """Partitioning layers into stages"""

    signature = "partition(costs: list[int], p: int) -> list[int]"
    levels = {"the slowest stage is as fast as possible": 2, "more stages than layers": 1}
    harness = harness_of(__file__, "partition")
    mistakes = [
        NOT_REFUSED,
        Mistake("ValueError", "This is possible, but the function raised a ValueError.",
                "Raise a ValueError only where there are more stages than layers."),
        Mistake("not_sizes", "The result is not a list of p numbers of layers.",
                "A list of p integers, one per stage, each at least 1."),
        Mistake("too_few_stages", "There are fewer stages than ranks: with the smallest possible limit the layers fit "
                "into fewer than p stages, and some ranks have nothing to do.",
                "Begin a new stage also when as many layers are left as stages, or split stages until there are p."),
        Mistake("layers_lost", "The stages together do not have as many layers as the model.",
                "The sizes add up to len(costs)."),
        Mistake("empty_stage", "A stage has no layer: its rank would do nothing but pass messages on.",
                "Every stage has at least one layer."),
        Mistake("equal_counts", "All stages have the same number of layers. But layers differ in what they cost.",
                "What counts is the sum of the costs in a stage."),
        Mistake("filled_to_the_mean", "Each stage was filled up to its share of the costs, and the last one has to "
                "take whatever is left.",
                "Try a limit: how many stages does it take if none may cost more? The smallest limit for which p are "
                "enough is the answer. Or compute the best cut of the first k layers into q stages, for all k and q."),
        Mistake("not_the_best", "Another cut has a faster slowest stage.",
                "The time of a pipeline is that of its slowest stage: make the largest sum as small as possible."),
    ]  # fmt: skip

    # In the second and the third no heuristic finds the best cut: least squares, the smallest difference, halves, steps
    # of a limit, what is nearest to the mean. In the fourth the best limit takes fewer than p stages. In the sixth
    # the first layer alone costs more than the mean stage; in the two after it float64 cannot tell the two cuts apart.
    # In the last two some layers cost nothing.
    CHOSEN = (
        ([4, 1, 1, 1, 1, 4], 3),
        ([11, 4, 26, 19, 1, 10, 7, 3, 38], 4),
        ([40, 38, 39, 2, 25, 9, 8, 30], 3),
        ([5, 5, 20, 5, 2, 1, 5, 1], 7),
        ([7, 31, 4, 26, 15, 38, 2, 9, 33, 12, 21, 5, 28, 17, 40, 3, 11, 24, 8, 19], 4),
        ([20, 1, 2, 3], 3),
        ([2**53, 1, 2**52, 2**52 + 1], 2),
        ([2**52 + 1, 2**52, 1, 2**53], 2),
        ([0, 3, 0, 0, 5, 7, 0, 6, 0], 3),
        ([0, 0, 0], 2),
    )

    def draw(self, rng):
        level = "the slowest stage is as fast as possible"
        for costs, p in self.CHOSEN:
            yield level, {"costs": costs, "p": p}
        for n, p in ((9, 3), (10, 4), (12, 5), (7, 2)):
            yield level, {"costs": self._telling(rng, n, p), "p": p}
        yield level, {"costs": rng.integers(1, 30, 5).tolist(), "p": 5}
        yield level, {"costs": rng.integers(1, 30, 5).tolist(), "p": 1}
        yield "more stages than layers", {"costs": rng.integers(1, 30, 3).tolist(), "p": 4}
        yield "more stages than layers", {"costs": [], "p": 1}  # where no search for a cut fails by itself

    @staticmethod
    def _telling(rng, n: int, p: int) -> list[int]:
        """Costs for which neither equal counts nor filling up is the best cut."""
        while True:
            costs = rng.integers(1, 40, n).tolist()
            best, others = best_parts(costs, p), (equal_counts(n, p), filled_to_the_mean(costs, p))
            differ = others[1] not in (others[0], others[0][::-1])
            if differ and all(slowest(costs, other) > slowest(costs, best) for other in others):
                return costs

    def read_right(self, answer, costs, p):
        was_refused = refused(answer)
        if p > len(costs):
            return None if was_refused else NOT_REFUSED.name
        if was_refused:
            return "ValueError"
        if not isinstance(answer, list) or not all(type(size) is int for size in answer):
            return "not_sizes"
        best = slowest(costs, best_parts(costs, p))
        if len(answer) != p:
            are_stages = answer and min(answer) > 0 and sum(answer) == len(costs) and slowest(costs, answer) == best
            said = f"There are {len(answer)} stages for {p} ranks."
            return Finding("too_few_stages", said) if are_stages else "not_sizes"
        if sum(answer) != len(costs):
            return Finding("layers_lost", f"{sum(answer)} of {len(costs)} layers are in a stage.")
        if min(answer) < 1:
            return "empty_stage"
        if slowest(costs, answer) == best:
            return None
        said = f"The slowest of these stages costs {slowest(costs, answer)}; {best} is possible."
        if answer == equal_counts(len(costs), p) or answer == equal_counts(len(costs), p)[::-1]:
            return Finding("equal_counts", said)
        return Finding("filled_to_the_mean" if answer == filled_to_the_mean(costs, p) else "not_the_best", said)


# -- orders ----------------------------------------------------------------------------------------


LAST_RANK = ("the last rank begins after p - 1 forward passes, works for 3 m v slots, and p - 1 backward passes of 2 "
             "slots follow its last one.")  # fmt: skip


class Order1F1B(OrderExercise):
    """The order of 1F1B"""

    signature = "order_1f1b(rank: int, p: int, m: int) -> list[tuple[str, int]]"
    given, harness = OrderExercise.given, OrderExercise.harness
    withheld = ("labkit.scale.step.order_1f1b",)
    levels = {"GPipe's time with p - rank alive": 2, "fewer micro-batches than ranks": 1}
    mistakes = [
        *OrderExercise.ORDERS,
        Mistake("one_at_a_time", "Only one rank works at a time: a micro-batch goes through the whole pipeline before "
                "the next begins.",
                "Begin with p - 1 - rank forward passes, so that all ranks get something to do."),
        OrderExercise.WAITS,
        Mistake("all_forward_first", "All forward passes come first: that is GPipe's order. It takes as long, but each "
                "rank keeps m micro-batches.",
                "After p - 1 - rank forward passes: one forward, one backward."),
        Mistake("holds_too_many", "More micro-batches are alive on a rank than necessary.",
                "p - 1 - rank forward passes first, then one forward and one backward in turn."),
    ]  # fmt: skip
    records = [
        Record("time", "slots", lambda case: case.known == {"p": 8, "m": 16},
               lambda case, run: replayed(case, run).elapsed, lambda case: 3 * (16 + 8 - 1),
               lambda case: 3 * (16 + 8 - 1), LAST_RANK),
        Record("micro-batches alive, the peaks of all ranks", "", lambda case: case.known == {"p": 8, "m": 16},
               lambda case, run: replayed(case, run).alive.sum(), lambda case: 8 * 9 / 2, lambda case: 8 * 9 / 2,
               "where the last rank never waits, rank r has begun p - r micro-batches when its first gradient comes."),
    ]  # fmt: skip
    reference = reference_of(__file__, "right_two_loops")

    def draw(self, rng):
        some = int(rng.integers(9, 60))
        for p, m in ((4, 8), (2, some), (8, 16), (5, 5), (3, some + 1), (1, 4)):
            yield "GPipe's time with p - rank alive", {"p": p, "m": m}
        for p, m in ((5, 3), (int(rng.integers(6, 9)), 2), (4, 1)):
            yield "fewer micro-batches than ranks", {"p": p, "m": m}

    def draw_further(self, rng):
        long, fewer = self.levels
        for p in map(int, rng.integers(4, 14, 2)):
            yield long, {"p": p, "m": int(rng.integers(p, 90))}
            yield fewer, {"p": p, "m": int(rng.integers(2, p))}

    def limits(self, rank, p, m):
        return min(m, p - rank)

    def seconds(self, p, m):
        return 3 * (m + p - 1)

    def name_of(self, ran, p, m):
        if p > 1 and in_turn(ran):
            return "one_at_a_time"
        return (
            "all_forward_first" if all(alive == m for alive in ran.alive) and ran.elapsed <= 3 * (m + p - 1) else None
        )


class OrderInterleaved(OrderExercise):
    """The order of interleaved 1F1B"""

    signature = "order_interleaved(rank: int, p: int, m: int, v: int) -> list[tuple[str, int, int]]"
    withheld = (
        "labkit.scale.step.order_interleaved",
        "labkit.scale.step.order_1f1b",
    )
    levels = {"the bubble of v chunks": 3, "p does not divide m": 1}
    given = ("p", "m", "v")
    harness = harness_of(__file__, "order_interleaved")
    mistakes = [
        NOT_REFUSED.but(why="p does not divide m, so the last group of p micro-batches would not be full, but the "
                        "function returned an order."),
        Mistake("ValueError", "This is possible, but the function raised a ValueError.",
                "Raise a ValueError only where p does not divide m."),
        OrderExercise.ORDERS[0].but(how='A list of ("F", k, j) and ("B", k, j): micro-batch k, chunk j of this rank, '
                                    "each of the 2 m v once."),
        OrderExercise.ORDERS[1].but(how="Chunk j + 1 of rank 0 needs chunk j of the last rank; a backward pass goes "
                                    "through the chunks from the last to the first."),
        Mistake("chunk_after_chunk", "All micro-batches go through a chunk before the next chunk begins: every rank "
                "keeps all of them.",
                "p micro-batches through chunk 0, the same p through chunk 1, and so on; then the next p."),
        OrderExercise.WAITS.but(how="2 (p - 1 - rank) + (v - 1) p forward passes first, then one forward and one "
                                "backward in turn."),
        Mistake("holds_too_many", "More forward passes are alive on a rank than necessary.",
                "2 (p - 1 - rank) + (v - 1) p forward passes first, then one forward and one backward in turn."),
    ]  # fmt: skip
    records = [  # the best on memory has a warm-up of p - 1 - rank + (v - 1) p forward passes
        Record("time", "slots", lambda case: case.known == {"p": 4, "m": 8, "v": 2},
               lambda case, run: replayed(case, run).elapsed, lambda case: 3 * (8 * 2 + 4 - 1),
               lambda case: 3 * (8 * 2 + 4 - 1), LAST_RANK),
        Record("forward passes alive, the peaks of all ranks", "", lambda case: case.known == {"p": 4, "m": 8, "v": 2},
               lambda case, run: replayed(case, run).alive.sum(), lambda case: 8 + 7 + 6 + 5),
    ]  # fmt: skip

    def draw(self, rng):
        some = 4 * int(rng.integers(3, 30))
        for p, m, v in ((4, 8, 2), (2, 6, 3), (4, some, 4), (3, 3, 2), (3, 6, 1), (1, 3, 2)):
            yield "the bubble of v chunks", {"p": p, "m": m, "v": v}
        for p, m, v in ((4, some + 2, 2), (3, 2, 2), (3, 4, 1)):
            yield "p does not divide m", {"p": p, "m": m, "v": v}

    def draw_further(self, rng):
        bubble, divides_not = self.levels
        for p in map(int, rng.integers(3, 9, 2)):
            m, v = p * int(rng.integers(2, 9)), int(rng.integers(2, 6))
            yield bubble, {"p": p, "m": m, "v": v}
            yield divides_not, {"p": p, "m": m + int(rng.integers(1, p)), "v": v}

    def read_right(self, answer, p, m, **known):
        said = [refused(one) for one in answer] if isinstance(answer, list) else []
        if m % p:
            return None if said and all(said) else NOT_REFUSED.name
        return "ValueError" if any(said) else super().read_right(answer, p, m, **known)

    def replayed(self, orders, p, m, v):
        return replay(orders, p, m, v)

    def limits(self, rank, p, m, v):
        return min(m * v, 2 * (p - 1 - rank) + (v - 1) * p + 1)

    def seconds(self, p, m, v):
        return 3 * (m * v + p - 1)

    def name_of(self, ran, p, m, v):
        chunks = [j for what, _, j in ran.orders[0] if what == "F"]
        return "chunk_after_chunk" if chunks == sorted(chunks) and m > p and v > 1 else None


class OrderZeroBubble(OrderExercise):
    """The order of a zero-bubble pipeline"""

    signature = "order_zero_bubble(rank: int, p: int, m: int) -> list[tuple[str, int]]"
    given, harness = OrderExercise.given, OrderExercise.harness
    levels = {"p - 1 idle slots, 1F1B's memory": 3}
    mistakes = [
        OrderExercise.ORDERS[0].but(how='A list of ("F", k), ("B", k) and ("W", k), k from 0 to m - 1, each once.'),
        OrderExercise.ORDERS[1].but(how='("W", k) needs ("B", k) of the same rank, and nobody needs "W".'),
        Mistake("weights_at_once", 'Every "W" comes directly after its "B". The neighbour gets its gradient sooner '
                "than under 1F1B, but ranks still wait where a \"W\" could fill the time.",
                'Nobody waits for "W". Postpone it, on rank r by r micro-batches: it fills the bubble.'),
        OrderExercise.WAITS,
        Mistake("holds_too_many", "More than p micro-batches are alive on a rank: what a \"W\" will need must be kept.",
                'Begin to run "W" as soon as p micro-batches are alive.'),
    ]  # fmt: skip
    records = [
        Record("time", "slots", lambda case: case.known == {"p": 8, "m": 16},
               lambda case, run: replayed(case, run, forward=1.0, backward=1.0, weights=1.0).elapsed,
               lambda case: 3 * 16 + 8 - 1, lambda case: 3 * 16 + 8 - 1,
               "the last rank begins after p - 1 slots and has 3 m slots of work."),
    ]  # fmt: skip

    def draw(self, rng):
        some = int(rng.integers(9, 60))
        for p, m in ((4, 8), (2, 5), (3, some), (8, 16), (5, 5), (1, 3)):
            yield "p - 1 idle slots, 1F1B's memory", {"p": p, "m": m}

    def draw_further(self, rng):
        for p in map(int, rng.integers(3, 10, 3)):
            yield next(iter(self.levels)), {"p": p, "m": int(rng.integers(p, 60))}

    def replayed(self, orders, p, m):
        return replay(orders, p, m, forward=1.0, backward=1.0, weights=1.0)

    def limits(self, rank, p, m):
        return p

    def seconds(self, p, m):
        return 3 * m + p - 1

    def name_of(self, ran, p, m):
        pairs = [list(itertools.pairwise(order)) for order in ran.orders]
        follows = [(b, w) for order in pairs for b, w in order if b[0] == "B"]
        return "weights_at_once" if all(w[0] == "W" and w[1] == b[1] for b, w in follows) else None


# -- pipelines on the relay ------------------------------------------------------------------------


class PipelineExercise(ReportExercise):
    """f(block, loss_of, xs, ys, m, shape) on p ranks, each with its stage; the harness charges computing and counts the
    micro-batches whose forward pass waits for its backward pass.
    """

    parts = ("gradients", "loss")
    harness = harness_of(__file__, "pipeline")
    may_lose = {"int64": "tokens are small numbers", "integers of both widths": "tokens are int64 in torch"}
    ALL = [
        Mistake("sum_of_means", "The gradients are m times too large: the loss of a micro-batch is its own mean, and "
                "m of them were added up.",
                "Divide the loss of a micro-batch by m before its backward pass.",
                lambda c: gradients(c, per_batch=len(c.xs))),
        Mistake("one_micro_batch", "Only the last micro-batch is in the gradients: each overwrote those before it.",
                "backward() adds to .grad by itself: let it.", of_the_last_alone),
        Mistake("own_gradient", "Ranks before the last began their backward pass with ones, not with the gradient that "
                "the next rank has computed.",
                "Receive the gradient g of your output and call out.backward(g).",
                lambda c: gradients(c, seeds=1.0) if c.p > 1 else None),
        Mistake("wrong_micro_batch", "Gradients were used for the wrong micro-batches: the one that came first was "
                "used for the micro-batch that was kept last.",
                "Both neighbours must use the same order, for example first in, first out.",
                lambda c: gradients(c, taken=c.taken)),
        Mistake("one_buffer", "All micro-batches were received into the same memory. autograd keeps the tensor that "
                "the block was given, not a copy: by the time of the backward pass it holds a later micro-batch.",
                "torch.empty(shape, dtype=torch.float64) for each micro-batch.",
                lambda c: gradients(c, latest=c.latest) if c.p > 1 else None),
        Mistake("one_tensor", "All micro-batches were received into one tensor. By the time of the backward pass "
                "it holds a later one, and its .grad, which you send on, adds up the gradients of all.",
                "torch.empty(shape, dtype=torch.float64) for each micro-batch.",
                lambda c: gradients(c, latest=c.latest, adds_up=True) if c.p > 1 else None),
        Mistake("reused_buffer", "A tensor was changed between isend and its wait(): the receiver may get the old or "
                "the new values. Where all micro-batches are received into one tensor, each backward pass changes its "
                ".grad, which is on its way.",
                "A tensor of its own for each micro-batch: torch.empty(shape, dtype=torch.float64)."),
        Mistake("reduced_over_ranks", "The gradients of all stages were added up. That is for replicas of a model; "
                "here each rank has layers of its own.",
                "No collective: every stage keeps its gradients.",
                lambda c: [sum(g["gradients"] for g in gradients(c))] * c.p if c.p > 1 else None),
        Mistake("sum_of_losses", "The gradients are right; the returned loss is the sum of the micro-batches' means.",
                "The loss of the minibatch is their mean.", lambda c: loss_of_the_last_rank(c, len(c.xs))),
        Mistake("last_loss", "The gradients are right; the returned loss is that of the last micro-batch alone.",
                "Add up the losses of all micro-batches, each divided by m.", last_loss),
        Mistake("last_mean", "The gradients are right; the returned loss is the mean of the last micro-batch alone.",
                "Return the mean of the losses of all micro-batches.", lambda c: last_loss(c, 1)),
        Mistake("divided_by_ranks", "The loss of a micro-batch was divided by the number of ranks; but the minibatch "
                "has m micro-batches, on however many ranks.",
                "Divide by m, not by p.", lambda c: gradients(c, per_batch=len(c.xs) / c.p) if c.p > 1 else None),
        Mistake("goes_past_the_block", "The block did less than a forward and a backward pass for every micro-batch.",
                "Call `block(x)` itself, and `backward` on what it returns."),
        Mistake("computes_twice", "The block did more than a forward and a backward pass for every micro-batch.",
                "Call the block once for every micro-batch, and keep what it returns."),
        Mistake("more_than_neighbours", "The values are right, but more was sent than a tensor per micro-batch to each "
                "neighbour.",
                "Send to rank + 1 in the forward pass and to rank - 1 in the backward pass, nothing else."),
        Mistake("uses_collective", "The values are right, but all ranks wait for each other in a collective.",
                "A recv waits for what it needs, and nothing else is to be waited for: leave the collective out."),
        Mistake("one_at_a_time", "The values are right, but only one rank works at a time: a micro-batch goes through "
                "the whole pipeline before the next begins.",
                "Send the activation of the next forward pass before you wait for a gradient."),
        Mistake("waits_too_long", "The values are right, but ranks wait longer than they need to.",
                "m + p - 1 slots are enough: send as soon as you have computed."),
    ]  # fmt: skip

    def case(self, rng, level: str, p: int, m: int, batch: tuple[int, ...] = (2,), tokens: bool = False) -> Case:
        """batch: the axes of a tensor between two ranks but for the last. tokens: rank 0 gets integers, and its stage
        looks their numbers up in a table."""
        width, shape = 3, (*batch, 3)
        weights, biases = full_precision(rng, -1, 1, (p, width, width)), full_precision(rng, -1, 1, (p, width))
        xs, ys = full_precision(rng, -1, 1, (2, m, math.prod(batch), width))
        given = [list(xs.reshape(m, *shape)), *[None] * (p - 1)], [*[None] * (p - 1), list(ys.reshape(m, *shape))]
        inputs, targets = ([one and [Tensor(x, "float64") for x in one] for one in part] for part in given)
        known = {"weights": weights, "biases": biases, "xs": xs, "ys": ys, "inputs": inputs, "targets": targets}
        known |= {"m": m, "shape": list(shape), "taken": [self.last_first(rank, p, m) for rank in range(p)]}
        known |= {"latest": [self.latest(rank, p, m) for rank in range(p)], "tables": [None] * p}
        if tokens:
            known["tables"][0] = xs.reshape(-1, width)[::-1].copy()
            looked_up = np.arange(m * math.prod(batch))[::-1].reshape(m, *batch)
            inputs[0] = [Tensor(one.copy(), "int64") for one in looked_up]
        names = "weights[r] biases[r] inputs[r] targets[r] m shape tables[r]"
        says = f"m = {m}" + (f", shape = {shape}" if len(batch) > 1 else "") + ", tokens" * tokens
        return on_ranks(level, p, names, known, says, network=NETWORK)

    def begins_with(self, rank: int, p: int, m: int) -> int:
        """The number of forward passes before its first backward pass."""
        raise NotImplementedError

    def last_first(self, rank: int, p: int, m: int) -> list[int]:
        """The micro-batches in the order in which a rank takes them that takes what it has kept last."""
        kept, taken, begun = [], [], 0
        for _ in range(m):
            while begun < min(m, len(taken) + self.begins_with(rank, p, m)):
                kept.append(begun)
                begun += 1
            taken.append(kept.pop())
        return taken

    def latest(self, rank: int, p: int, m: int) -> list[int]:
        """For each of its backward passes the micro-batch that it has received last."""
        if rank == 0:
            return list(range(m))
        return [min(m, k + self.begins_with(rank, p, m)) - 1 for k in range(m)]

    def expected(self, case):
        k = case.known
        found, loss = backward_of(k["weights"], k["biases"], k["xs"], k["ys"])
        last = len(found) - 1
        losses = [*[ANYTHING] * last, np.asarray(loss)]
        return [{"gradients": one, "loss": losses[r]} for r, one in enumerate(found)]

    def needs_bytes(self, case):
        return [0 if case.world_size == 1 else case.known["xs"].nbytes] * case.world_size

    def facts(self, case: Case, run: Run):
        p, m, nbytes = case.world_size, case.known["m"], case.known["xs"].nbytes
        for rank, one in enumerate(run.ranks):
            work = m * (FORWARD + BACKWARD)
            if abs(one.busy - work) > 1e-9:
                name = "goes_past_the_block" if one.busy < work else "computes_twice"
                return Finding(name, f"Rank {rank} computed for {one.busy * 1e3:g} ms; the work is {work * 1e3:g} ms.")
        if not fits(case, self.expected(case), [one.value for one in run.ranks]):
            return None
        moved = sum(run.link_bytes.values())
        if moved > 2 * (p - 1) * nbytes or sum(one.sends for one in run.ranks) > 2 * (p - 1) * m:
            return Finding(
                "more_than_neighbours",
                f"{moved:.0f} bytes were moved; {2 * (p - 1) * nbytes}, in {2 * (p - 1) * m} messages, are enough.",
            )
        return collective(run) or self.of_time(case, run)

    def contradiction(self, case, run):
        return stage_contradiction(run, case.known["xs"][0].nbytes)

    def of_time(self, case: Case, run: Run) -> Finding | None:
        p, m = case.world_size, case.known["m"]
        wanted, alone = (m + p - 1) * (FORWARD + BACKWARD), m * p * (FORWARD + BACKWARD)
        if run.elapsed <= SLACK * wanted:
            return None
        said = f"It took {run.elapsed * 1e3:.1f} ms of virtual time; {wanted * 1e3:.1f} ms are enough."
        return Finding("one_at_a_time" if run.elapsed >= alone else "waits_too_long", said)


class GPipe(PipelineExercise):
    """GPipe"""

    signature = "gpipe(block: nn.Module, loss_of: Callable, xs, ys, m: int, shape: tuple) -> float | None"
    levels = {"the gradients of the whole model": 2, "one rank; fewer micro-batches than ranks": 1}
    mistakes = PipelineExercise.ALL

    def begins_with(self, rank, p, m):
        return m if rank < p - 1 else 1

    def latest(self, rank, p, m):
        return list(range(m)) if rank == 0 else [m - 1] * m

    def cases(self, rng):
        level, other = self.levels
        return [
            self.case(rng, level, 3, 4),
            self.case(rng, level, 2, 3, (2, 3)),
            self.case(rng, level, 4, 8),
            self.case(rng, other, 1, 3),
            self.case(rng, other, 4, 2),
            self.case(rng, other, 3, 1),
            self.case(rng, level, 2, 3, tokens=True),
        ]


class OneFOneB(PipelineExercise):
    """1F1B"""

    signature = "one_f_one_b(block: nn.Module, loss_of: Callable, xs, ys, m: int, shape: tuple) -> float | None"
    levels = {"the gradients of the whole model, p - rank alive": 3, "one rank; fewer micro-batches than ranks": 1}
    uses = ("order_1f1b",)
    mistakes = [
        *PipelineExercise.ALL,
        Mistake("unsafe_send", "A send may wait until it is received, and here two neighbours send to each other: an "
                "activation one way, a gradient the other.",
                "Use isend, and wait for the requests at the end."),
        Mistake("holds_too_many", "The values are right, and it takes no longer, but more micro-batches are kept than "
                "necessary: 1F1B keeps p - rank of them.",
                "As soon as p - 1 - rank forward passes are done: one forward, one backward."),
        Mistake("keeps_the_graph", "The order is that of 1F1B, but what autograd saved for a micro-batch is kept after "
                "its backward pass.",
                "Call backward() without retain_graph=True: it then frees what it has used."),
    ]  # fmt: skip

    def cases(self, rng):
        level, other = self.levels
        return [
            self.case(rng, level, 3, 5),
            self.case(rng, level, 2, 4, (2, 3)),
            self.case(rng, level, 4, 8),
            self.case(rng, other, 1, 3),
            self.case(rng, other, 4, 2),
            self.case(rng, other, 3, 1),
            self.case(rng, level, 2, 3, tokens=True),
        ]

    def begins_with(self, rank, p, m):
        return p - rank

    def of_time(self, case, run):
        found = super().of_time(case, run)
        if found:
            return found
        p, m, one = case.world_size, case.known["m"], case.known["xs"][0].nbytes
        for rank, ran in enumerate(run.ranks):
            kept, limit = ran.peak // one, min(m, p - rank)
            if kept > limit:
                name = "holds_too_many" if begun_at_a_time(run, rank) > limit else "keeps_the_graph"
                return Finding(name, f"Rank {rank} kept {kept} micro-batches at a time, not {limit}.")
        return None


# -- splitting the backward pass ---------------------------------------------------------------------


class SplitBackward(ReportExercise):
    """Splitting the backward pass"""

    signature = "split_backward(out: Tensor, x: Tensor, gradient: Tensor, parameters: list) -> tuple[Tensor, Callable]"
    levels = {"input now, weights later": 3}
    talks = False
    parts = ("input", "early", "weights", "twice", "more passes", "changed")
    inputs = ("x",)  # autograd may leave its gradient there
    harness = harness_of(__file__, "split_backward")
    mistakes = [
        Mistake("input_of_ones", "The gradient of the input is that of the sum of the outputs: that of `out` was not "
                "used.",
                "torch.autograd.grad(out, x, gradient, ...)",
                lambda c: {"input": input_gradient(c, np.ones_like(c.gradients))}),
        Mistake("not_split", "The gradients of the weights were computed at once, together with that of the input.",
                "torch.autograd.grad(out, x, gradient, retain_graph=True) computes the gradient of x alone.",
                lambda c: {"early": len(c.xs)}),
        Mistake("weights_of_ones", "The gradients of the weights are those of the sum of the outputs.",
                "Both parts begin with the gradient of `out`.",
                lambda c: {"weights": weight_gradient(c, gradient=np.ones_like(c.gradients))}),
        Mistake("weights_never", "The gradients of the weights were never computed.",
                "The function that you return adds them to .grad when it is called.",
                lambda c: {"weights": np.zeros_like(weight_gradient(c))}),
        Mistake("one_micro_batch", "Only the last micro-batch is in the gradients of the weights: each overwrote those "
                "before it.",
                "Add to .grad where there is one.", lambda c: {"weights": weight_gradient(c, slice(-1, None))}),
        Mistake("drops_earlier_gradients", "Gradients are gone that an earlier micro-batch had left in `.grad` before "
                "this one's backward pass was split.",
                "Micro-batches take turns: do not touch `.grad` until your function is called, and then add to it.",
                lambda c: {"weights": weight_gradient(c, slice(-2, None))} if len(c.xs) > 2 else None),
        Mistake("first_micro_batch", "Only the first micro-batch is in the gradients of the weights.",
                "Add to .grad where there is one.", lambda c: {"weights": weight_gradient(c, slice(0, 1))}),
        Mistake("bias_forgotten", "The gradient of the bias was never computed.",
                "torch.autograd.grad(out, parameters, gradient) returns one for each parameter.",
                lambda c: {"weights": np.append(weight_gradient(c)[: c.weight.size], 0.0 * c.bias)}
                if c.bias is not None else None),
        Mistake("input_again", "The second part computed the gradient of the input once more.",
                "torch.autograd.grad(out, parameters, gradient) computes those of the parameters alone; backward() "
                "computes them all.",
                lambda c: {"twice": len(c.xs)}),
        Mistake("pass_for_each_parameter", "The second part went back through the layer once for each parameter.",
                "torch.autograd.grad(out, parameters, gradient) computes all of them in one pass.",
                lambda c: {"more passes": len(c.xs)}),
        Mistake("changes_gradient", "The caller's `gradient` was changed: what autograd returns for a parameter may be "
                "`gradient` itself, and the next micro-batch was added to it in place.",
                "Keep a copy, `p.grad = g.clone()`, or add up in a new tensor, `p.grad = p.grad + g`.",
                lambda c: {"changed": len(c.xs) - 1} if c.bias is not None and c.bias.ndim > 1 else None),
    ]  # fmt: skip

    def cases(self, rng):
        (level,) = self.levels
        return [self._case(rng, level, m, *how) for m, *how in ((2, True, (2, 3)), (3, True), (2, False))]

    @staticmethod
    def _case(rng, level, m, biased, shape=(3,)):
        """shape: of the bias; one of the output's shape, (2, 3), is added after the tanh."""
        known = {"weight": full_precision(rng, -1, 1, (3, 4)),
                 "bias": full_precision(rng, -1, 1, shape) if biased else None}  # fmt: skip
        known |= {"xs": full_precision(rng, -1, 1, (m, 2, 4)), "gradients": full_precision(rng, -1, 1, (m, 2, 3))}
        lists = {f"{name}_list": [Tensor(one, "float64") for one in known[name]] for name in ("xs", "gradients")}
        says = f"{m} micro-batches" + ("" if biased else ", weights without a bias")
        return on_ranks(level, 1, "weight bias xs_list gradients_list", known | lists, says)

    def expected(self, case):
        c = self.worked(case)
        values = input_gradient(c, c.gradients), 0, weight_gradient(c), 0, 0, 0
        return [dict(zip(self.parts, values, strict=True))]
