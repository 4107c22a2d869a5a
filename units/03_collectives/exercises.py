"""Unit 03, collectives: a sum and a mean over ranks, and all-reduce built four times over, each time for less."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np

from autograder.compare import same
from autograder.exercise import Case, Exercise, Finding, Mistake, Record, Run, Tensor
from autograder.exercises.kinds import PlainExercise, fits
from autograder.exercises.readings import contributions
from autograder.exercises.readings.contributions import everywhere, sum_case, tensors, total
from autograder.exercises.readings.messages import forbidden_collective, message_time, messages, time_without_barriers
from autograder.exercises.source import harness_of

NO_COMMUNICATION = Mistake("own_only", "Every rank returned its own values: nothing was added up.",
                           "Check that the call is reached and that you return its result.")  # fmt: skip
ONLY_ONE_RANK = Mistake("only_one_rank",
                        "Only one rank holds the sum. That is a reduce; an all-reduce leaves it on every rank.",
                        "The sum has to travel back to the others.",  # fmt: skip
                        lambda c: [c.total, *c.parts[1:]])  # fmt: skip
DOUBLED_OWN = Mistake("doubled_own", "Each rank counted its own values twice.",
                      "Start from your own values or add them, not both; a rank does not add its own message.",
                      lambda c: [c.total + part for part in c.parts])  # fmt: skip
NEVER_GATHERED = Mistake("never_gathered", "Each rank holds the sum of one chunk only.",
                         "The finished chunks have to reach every rank.")  # fmt: skip
DROPS_REMAINDER = Mistake("drops_remainder",
                          "The last elements were not added up: chunks of n // p elements leave n % p behind.",
                          "`torch.tensor_split` cuts into chunks that differ by at most one element; or pad to a "
                          "multiple of p and cut that off.")  # fmt: skip
COUNTED_TWICE = Mistake("counted_twice", "Some values are in the sum more than once.",
                        "A sum that is complete is copied, not added again.")  # fmt: skip
# What `contributions.read` can find in any sum; an exercise replaces the texts it can say better.
NOT_NEW = Mistake("not_new", "What came back is x itself, or lies in its memory: when ones were then written into x, "
                  "the result was gone.", "Return a tensor of its own, on a single rank, too: `x.clone()`.",
                  lambda c: np.ones_like(c.total) if c.p == 1 else None)  # fmt: skip
READINGS = [
    NOT_NEW,
    *(NO_COMMUNICATION, ONLY_ONE_RANK.giving(None), DOUBLED_OWN.giving(None)),
    *(DROPS_REMAINDER, COUNTED_TWICE),
    Mistake("running_sum", "Each rank's sum ends with itself: a running sum. Only the last rank has heard of all.",
            "The sum is over all ranks."),
    Mistake("rank_0_left_out", "Rank 0's values are not in the sum.", "Start from a copy of x, not from zeros."),
    Mistake("ranks_missing", "The values of some ranks did not get into the sum.",
            "Follow one number from the rank that is missing."),
    Mistake("mixed_up", "Some values are in the sum twice and others not at all: pieces that do not belong together "
            "were added to each other.",
            "Sender and receiver must mean the same piece in the same step."),
    Mistake("averaged", "This is the mean, not the sum.", "Do not divide."),
]  # fmt: skip
# What `contributions.read_chunks` finds besides.
CHUNK_READINGS = [
    *READINGS,
    Mistake("keeps_padding", "The padding is still there: the result is as long as x.", "Cut it off with `[:n]`."),
    Mistake("wrong_order", "All sums are right, but the chunks stand in the wrong order.",
            "Chunk i belongs at place i on every rank, whoever had it first."),
]  # fmt: skip
USES_ALL_REDUCE = Mistake("uses_all_reduce",
                          "The sum is right, but all_reduce did the work. Here you build it yourself.",
                          "Use send, recv, isend and irecv only.")  # fmt: skip
FROM_SENDS = [
    USES_ALL_REDUCE,
    USES_ALL_REDUCE.but(name="uses_collective", why="The sum is right, but a collective did the work."),
]  # fmt: skip

RANKS_DIFFER = Mistake("ranks_differ", "The sums are right to the last digits, and in these the ranks differ: they "
                       "added in different orders, and rounding depends on the order.",
                       "Add each number up on one rank, and give the others a copy of what it has.")  # fmt: skip

MOVES_TWICE = ("each number travels p - 1 times until it is summed and p - 1 times until all have the sum (Patarasuk "
               "and Yuan 2009).")  # fmt: skip
ALL_SEND = "Start the send with isend, receive, then wait for it: all ranks then send at the same time."


class SumExercise(Exercise):
    """A tensor is summed over the ranks, and every rank holds the sum.

    A case is one of `contributions.sum_case`. What a mistake gives is computed from `p`, `parts` (one array per rank)
    and their `total`; an array means that all ranks hold it, a list is one array per rank. `facts` names what `reading`
    finds in a wrong sum, in the words of `named`, and the first rule that a right one breaks (`rules`).
    """

    harness = harness_of(__file__, "sum_over_ranks")
    reading = staticmethod(contributions.read)
    equal = False  # whether the text asks for the same bits on every rank

    def named(self, case: Case, name: str) -> str:
        return name

    def rules(self, case: Case, run: Run) -> Finding | None:
        return None

    def expected(self, case):
        return everywhere(case, total(case))

    def worked(self, case):
        return SimpleNamespace(**vars(super().worked(case)), total=total(case))

    def per_rank(self, case, value):
        return tensors(case, value) if isinstance(value, list) else everywhere(case, value)

    def facts(self, case: Case, run: Run):
        if not case.known["base"]:  # nobody can tell who is in such a sum
            if not (self.equal and fits(case, self.expected(case), [rank.value for rank in run.ranks])):
                return None
            return self.rules(case, run) or (RANKS_DIFFER.name if bits_differ(run) else None)
        found = self.reading(case, run)
        if found is None:
            return self.rules(case, run)
        name = self.named(case, found.diagnosis)
        return Finding(name, found.detail) if name in self.diagnoses else None


def bits_differ(run: Run) -> bool:
    """True if two ranks' tensors are not the same to the last bit."""
    values = [rank.value.values for rank in run.ranks if isinstance(rank.value, Tensor)]
    return any(not np.array_equal(values[0], other, equal_nan=True) for other in values[1:])


def rounded(case: Case) -> Case:
    """The same case of floats, with numbers of which no two sums in another order are equal in all places."""
    parts = [part * (1 + rank / 7) / 3 for rank, part in enumerate(case.known["parts"])]
    arguments = [(replace(given, values=part),) for (given,), part in zip(case.arguments, parts, strict=True)]
    says = f"{case.says}, of which no sum is exact"
    return replace(case, arguments=arguments, says=says, known={**case.known, "parts": parts, "base": None})


def with_zeros(case: Case) -> Case:
    """The same case of five ranks with nothing but zeros on ranks 1 and 3, and a single one on rank 2."""
    parts = [np.array(part) for part in case.known["parts"]]
    parts[1][...], parts[3][...], parts[2].flat[-1] = 0, 0, 0
    arguments = [(replace(given, values=part),) for (given,), part in zip(case.arguments, parts, strict=True)]
    says = f"{case.says}, zeros on ranks 1 and 3"
    return replace(case, arguments=arguments, says=says, known={**case.known, "parts": parts, "base": None})


def with_infinity(case: Case) -> Case:
    """The same case of floats with an infinity on the last rank."""
    parts = [np.array(part) for part in case.known["parts"]]
    parts[-1].flat[0] = np.inf
    arguments = [(replace(given, values=part),) for (given,), part in zip(case.arguments, parts, strict=True)]
    known = {**case.known, "parts": parts, "base": None}
    return replace(case, arguments=arguments, says=f"{case.says}, one is inf", known=known)


class SumOverRanks(SumExercise):
    """Sum over ranks"""

    signature = "sum_over_ranks(x: torch.Tensor) -> torch.Tensor"
    all_hear = True
    levels = {"the matrix 1..12": 1, "a different tensor on each rank": 1}
    MATRIX = np.arange(1, 13).reshape(3, 4)
    mistakes = [
        *READINGS,
        ONLY_ONE_RANK.but(how="`dist.all_reduce` leaves it on every rank, `dist.reduce` on one."),
        Mistake("times_world_size", "x was multiplied by p. That is the sum only if all ranks hold the same x.",
                "The other ranks' values have to come from the other ranks: `dist.all_reduce`.",
                lambda c: [part * c.p for part in c.parts]),
        Mistake("maximum", "This is the largest value over the ranks, not the sum.",
                "The operation is `dist.ReduceOp.SUM`.",
                lambda c: np.max(c.parts, axis=0) if c.base else None),  # equal matrices: x and a mean look so, too
        Mistake("product", "The values were multiplied, not added.",
                "The operation is `dist.ReduceOp.SUM`.",
                lambda c: np.prod(np.array(c.parts, c.dtype), axis=0, dtype=c.dtype)),
        DOUBLED_OWN,
        Mistake("summed_twice", "The sum was summed again: the result is p times too large.",
                "One all_reduce is enough, and only over the original values.", lambda c: c.total * c.p),
        Mistake("written_down", "This is the sum of four matrices 1..12, whatever x is: the answer is written down "
                "instead of computed.",
                "Let the ranks add up what they hold: `dist.all_reduce`.",
                lambda c: 4 * SumOverRanks.MATRIX if c.total.shape == (3, 4) else None),
        Mistake("zero_times_infinity", "Where a rank holds infinity the sum is nan: its number was multiplied by 0 on "
                "the way, and infinity times 0 is no number.",
                "Make zeros of their own, `torch.zeros_like(x)`; to add up, no rank has to bring zeros.",
                lambda c: np.where(np.isinf(c.total), np.nan, c.total) if np.isinf(c.total).any() else None),
    ]  # fmt: skip

    def cases(self, rng):
        level = "a different tensor on each rank"
        own = [
            sum_case(rng, level, 4, (3, 4), "float32"),
            sum_case(rng, level, 3, (5,), "int64", late=(1,)),
            sum_case(rng, level, 1, (2, 2, 2), "float64"),
            sum_case(rng, level, 2, (3,), "int32"),
            sum_case(rng, level, 3, (), "float64"),
            with_zeros(sum_case(rng, level, 5, (3, 2), "float64")),
        ]
        k = int(rng.choice([2, 3, 5, 6, 7, 8, 9]))  # not 4: four matrices 1..12 would be one rank's own
        own.append(with_infinity(sum_case(rng, level, 2, (3,), "float64")))
        return [self._same(self.MATRIX), self._same(k * self.MATRIX, f", times {k}"), *own]

    @staticmethod
    def _same(matrix: np.ndarray, which: str = "") -> Case:
        known = {"parts": [matrix] * 4, "base": None, "unit": 1, "dtype": "float32"}
        says = f"3 x 4{which}, the same on every rank"
        return Case("the matrix 1..12", 4, (Tensor(matrix, "float32"),), says=says, known=known)


class MeanOverRanks(SumExercise):
    """Mean over ranks"""

    signature = "mean_over_ranks(x: torch.Tensor) -> torch.Tensor"
    levels = {"floating point": 1, "integers": 1}
    may_lose = {
        "int64": "the mean of integers may be of any floating type, float32 too",
        "int32": "the same",
    }
    # The mean of integers may be of any floating type: the comparison is made in float32.
    harness = harness_of(__file__, "mean_over_ranks")
    mistakes = [
        NOT_NEW, NO_COMMUNICATION.giving(lambda c: c.parts),
        Mistake("sum_for_mean", "The values were summed but not divided by the number of ranks.",
                "Divide by `dist.get_world_size()`.",
                lambda c: None if c.case.known.get("integer") == "uint8" else c.total),  # there the sum overflows
        Mistake("divided_twice", "The sum was divided by the number of ranks twice.",
                "Divide before the all_reduce or after it, not both times.", lambda c: c.total / c.p**2),
        Mistake("divided_on_one_rank", "Rank 0 holds the mean, the other ranks still hold the sum.",
                "Every rank divides its own copy.", lambda c: [c.total / c.p] + [c.total] * (c.p - 1)),
        Mistake("only_one_rank", "Only rank 0 holds the mean.",
                "`dist.all_reduce` leaves the sum on every rank, `dist.reduce` on one.",
                lambda c: [c.total / c.p, *c.parts[1:]]),
        Mistake("reduced_to_one_rank", "Rank 0 holds the mean, and each other rank divided what it had brought.",
                "`dist.all_reduce` leaves the sum on every rank, `dist.reduce` on one.",
                lambda c: [c.total / c.p, *(part / c.p for part in c.parts[1:])]),
        Mistake("divided_by_p_minus_1", "The sum was divided by p - 1.",
                "There are p ranks; only their numbers end at p - 1.",
                lambda c: c.total / (c.p - 1) if c.p > 1 else None),
        Mistake("own_divided", "Each rank divided its own values by p and nothing was added up.",
                "Sum over the ranks first.", lambda c: [part / c.p for part in c.parts]),
        Mistake("fixed_world_size", "The sum was divided by a number that does not follow the number of ranks.",
                "Ask `dist.get_world_size()`; never write it down."),
        Mistake("zeros_not_counted", "The sum was divided by the number of ranks that hold something other than 0.",
                "A rank that holds 0 is one of the ranks: divide by `dist.get_world_size()`.",
                lambda c: c.total / np.maximum(np.sum([part != 0 for part in c.parts], axis=0), 1)),
        Mistake("floor_division", "The fraction was cut off.",
                "`//` rounds down, and so does an integer tensor. Use `/` on a floating-point tensor."),
        Mistake("floors_before_the_sum", "Each rank rounded its share before the sum, so up to p fractions were lost.",
                "Convert to floating point before you divide."),
        Mistake("overflows", "The sum did not fit into the dtype in which it was added up: uint8 ends at 255 and "
                "starts again at 0, int16 ends at 32,767, int32 at 2,147,483,647, int64 at 2**63 - 1.",
                "Convert to floating point before the all_reduce, not after it."),
    ]  # fmt: skip

    def cases(self, rng):
        return [
            sum_case(rng, "floating point", 4, (3, 4), "float32"),
            sum_case(rng, "floating point", 3, (6,), "float64", late=(0,)),
            sum_case(rng, "floating point", 2, (5,), "float64"),
            self._integers(rng, 3, 10, 1000, "int64"),
            self._integers(rng, 4, 100, 256, "uint8"),
            self._integers(rng, 3, 12_000, 20_000, "int64"),  # int16 ends at 32,767
            self._integers(rng, 3, 12_000, 20_000, "int16"),
            sum_case(rng, "floating point", 2, (5,), "bfloat16"),
            with_zeros(sum_case(rng, "floating point", 5, (3, 2), "float64")),
            with_zeros(self._integers(rng, 5, 100, 256, "uint8")),
            sum_case(rng, "floating point", 1, (4,), "float64"),
            sum_case(rng, "floating point", 3, (), "float64"),
            self._integers(rng, 1, 10, 1000, "int64"),
            self._integers(rng, 3, 2**30, 2**30 + 2**20, "int32"),
            self._integers(rng, 3, 2**62, 2**62 + 2**40, "int64"),
        ]

    @staticmethod
    def _integers(rng, world_size, low, high, dtype):
        """Integers some of whose sums leave a remainder, and whose remainders add up to more than one."""
        parts = [rng.integers(low, high, 8) for _ in range(world_size)]
        for part in parts[:2]:
            part[0] += (
                1 - part[0] % world_size if part[0] < high - world_size else 1 - part[0] % world_size - world_size
            )
        parts[-1][0] -= parts[-1][0] % world_size
        given = [(Tensor(part, dtype),) for part in parts]
        if world_size * high > 2**62:  # the sum is none of int64
            parts = [part.astype(np.float64) for part in parts]
        known = {"parts": parts, "dtype": "float32", "integer": dtype}
        return Case("integers", world_size, given, says=f"n = 8, {dtype}", known=known)

    def expected(self, case):
        return everywhere(case, total(case) / case.world_size)

    def facts(self, case: Case, run: Run):
        """The losses of integers on their way, in any dtype, and constants instead of p."""
        values, whole, p = contributions.in_shape(case, run), total(case), case.world_size
        if values is None or p == 1 or not whole.size:  # alone, a sum is a mean
            return None
        if all(map(same, self.expected(case), (rank.value for rank in run.ranks))):
            return None
        values, integer = np.array(values, dtype=np.float64), case.known.get("integer")
        wrapped = whole % 256 if integer == "uint8" else whole
        if integer:
            ways = [("sum_for_mean", whole), ("floor_division", whole // p), ("floor_division", np.rint(whole / p))]
            ways += [("floors_before_the_sum", sum(part // p for part in case.known["parts"]))]
            ways += [("overflows", way) for way in (wrapped, wrapped / p, wrapped // p) if wrapped is not whole]
            name = next((name for name, way in ways if np.allclose(values, way)), None)
            if name:
                return Finding(name)
        for half in (2.0**15, 2.0**31, 2.0**63):
            if integer and whole.max() >= half and np.allclose(values, ((whole + half) % (2 * half) - half) / p):
                return "overflows"
        for added in (whole, wrapped) if values.all() else ():
            ratios = added / values
            if np.allclose(ratios, ratios.flat[0]) and not math.isclose(ratios.flat[0], p, rel_tol=1e-4):
                if math.isclose(ratios.flat[0], sum(map(np.any, case.known["parts"])), rel_tol=1e-4):
                    return "zeros_not_counted"
                return Finding("fixed_world_size", f"On {p} ranks the sum was divided by {ratios.flat[0]:g}.")
        return None


class ServerAllReduce(SumExercise):
    """All-reduce through rank 0"""

    signature = "server_all_reduce(x: torch.Tensor) -> torch.Tensor"
    levels = {"the sum, on every rank": 1, "any dtype and shape": 1}
    equal = True
    mistakes = [
        *READINGS, *FROM_SENDS, RANKS_DIFFER,
        Mistake("answers_too_early", "Rank 0 answered each rank as soon as it had heard from it, with the sum so far.",
                "Two loops: first receive, then send.", lambda c: [c.total, *np.cumsum(c.parts, axis=0)[1:]]),
        Mistake("not_through_rank_0", "The sum is right, but here all messages go to rank 0 or come from it.",
                "Rank 0 is the meeting point."),
        Mistake("too_many_messages", "The sum is right, but one message each way is enough: a tensor is one message.",
                "Send x itself, not its elements or pieces of it."),
    ]  # fmt: skip

    def cases(self, rng):
        level = "the sum, on every rank"
        return [
            sum_case(rng, level, 3, (5,), late=(1,)),
            sum_case(rng, level, 2, (4,)),
            sum_case(rng, level, 5, (4,)),
            sum_case(rng, "any dtype and shape", 4, (2, 3), "int64", late=(2,)),
            sum_case(rng, "any dtype and shape", 3, (7,), "bfloat16"),
            sum_case(rng, "any dtype and shape", 2, (7, 10_000), "int32"),  # long, and still one message
            sum_case(rng, "any dtype and shape", 3, ()),
            sum_case(rng, level, 1, (4,)),
            rounded(sum_case(rng, level, 4, (60,))),
        ]

    def rules(self, case, run):
        if found := forbidden_collective(run, but="barrier"):
            return found
        for sender, receiver in sorted({(e.rank, e.peer) for e in messages(run)}):
            if 0 not in (sender, receiver):
                return Finding("not_through_rank_0", f"Rank {sender} sent to rank {receiver}.")
        for rank, rank_run in enumerate(run.ranks):
            limit = 1 if rank else case.world_size - 1
            if rank_run.sends > limit:
                return Finding("too_many_messages", f"Rank {rank} sent {rank_run.sends} messages instead of {limit}.")
        return None


class TreeAllReduce(SumExercise):
    """All-reduce as a tree"""

    signature = "tree_all_reduce(x: torch.Tensor) -> torch.Tensor"
    levels = {"powers of two": 1, "any number of ranks": 1, "few steps": 1}
    equal = True
    mistakes = [
        *READINGS, *FROM_SENDS, RANKS_DIFFER,
        ONLY_ONE_RANK.giving(None).but(how="Walk the tree a second time, from the root down to the leaves."),
        Mistake("powers_of_two_only", "Some ranks are missing in the sum: this works for 2, 4, 8 ... ranks only.",
                "A partner >= p does not exist, and what it should have passed on is lost. Round log2 p up."),
        Mistake("bottleneck", "The sum is right, but one rank talks to all others in turn: its port is the bottleneck.",
                "In a tree no rank talks to more than about log2 p others: pairs first, then pairs of pairs."),
        Mistake("too_many_messages", "The sum is right, but a rank sent or received more messages than 2 ceil(log2 p).",
                "A partial sum of many ranks is one message: pairs first, then pairs of pairs."),
        Mistake("too_many_steps", "The sum is right, but the ranks waited for each other in a long chain: the time "
                "grows like p, not like log2 p.",
                "In each step half of the ranks that still hold a partial sum hand it over, all at the same time."),
    ]  # fmt: skip

    def cases(self, rng):
        return [
            sum_case(rng, "powers of two", 4, (2, 3), "float32", late=(0,)),
            sum_case(rng, "powers of two", 2, (4,)),
            sum_case(rng, "any number of ranks", 3, (5,), "int64", late=(2,)),
            sum_case(rng, "any number of ranks", 5, (4,), "int32"),
            sum_case(rng, "any number of ranks", 3, ()),
            sum_case(rng, "few steps", 16, (3,), "int64"),
            rounded(sum_case(rng, "few steps", 8, (60,))),
            sum_case(rng, "any number of ranks", 1, (4,)),
            sum_case(rng, "any number of ranks", 6, (4,)),
            sum_case(rng, "few steps", 15, (3,)),  # seven more than 8
            rounded(sum_case(rng, "few steps", 6, (60,))),
        ]

    def named(self, case, name):
        return "powers_of_two_only" if name == "ranks_missing" and case.world_size & (case.world_size - 1) else name

    def rules(self, case, run):
        found = forbidden_collective(run, but="barrier")
        return found if found or case.level != "few steps" else self._too_slow(case, run)

    @staticmethod
    def _too_slow(case: Case, run: Run) -> Finding | None:
        p, steps = case.world_size, math.ceil(math.log2(case.world_size))
        pairs = {(e.rank, e.peer) for e in messages(run)}
        for rank in range(p):
            partners = {other for pair in pairs if rank in pair for other in pair} - {rank}
            if len(partners) > 2 * steps:
                return Finding("bottleneck", f"On {p} ranks, rank {rank} talked to {len(partners)} others.")
        taken = time_without_barriers(run) / message_time(case, nbytes(case))
        if taken > 4 * steps + 0.5:
            return Finding("too_many_steps", f"On {p} ranks it took {taken:.0f} steps; a tree needs {2 * steps}.")
        for what, counts in (("sent", [r.sends for r in run.ranks]), ("received", [r.recvs for r in run.ranks])):
            if max(counts) > 2 * steps:
                busiest = f"rank {counts.index(max(counts))} {what} {max(counts)} messages"
                return Finding("too_many_messages", f"On {p} ranks, {busiest}.")
        return None


def nbytes(case: Case) -> int:
    """The number of bytes of the whole tensor."""
    itemsize = {"bfloat16": 2, "float32": 4, "int32": 4}.get(case.known["dtype"], 8)
    return total(case).size * itemsize


class AllReduceInTwoHalves(SumExercise):
    """All-reduce from reduce_scatter and all_gather"""

    signature = "all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor"
    levels = {"n divisible by p": 1, "any n": 1}
    reading = staticmethod(contributions.read_chunks)
    equal = True
    mistakes = [
        *CHUNK_READINGS, RANKS_DIFFER,
        Mistake("own_chunk_only", "Each rank returned its own summed chunk: this is only the first half.",
                "all_gather joins the chunks.", lambda c: np.split(np.pad(c.total, (0, -c.total.size % c.p)), c.p)),
        NEVER_GATHERED.but(how="all_gather brings the summed chunks to every rank."),
        Mistake("not_summed", "Each element is a single rank's value: chunks were collected that nobody had added up.",
                "reduce_scatter first; all_gather passes on its output."),
        DROPS_REMAINDER.but(how="Pad with zeros to a multiple of p before, and cut the padding off with `[:n]` after."),
        USES_ALL_REDUCE.but(why="The sum is right, but all_reduce did the work.",
                            how="Use reduce_scatter for the first half and all_gather for the second."),
        Mistake("no_reduce_scatter", "The sum is right, but nothing was reduced and scattered: every rank received all "
                "p vectors and added them up.",
                "With reduce_scatter each rank receives and adds only its own chunk: p times fewer bytes."),
        Mistake("no_all_gather", "The sum is right, but the second half is not an all_gather.",
                "One all_gather passes all chunks on at once."),
        Mistake("pads_for_nothing", "The sum is right, but p divides n, and still there were zeros added behind x: "
                "chunks of more than n / p elements.",
                "`-n % p` zeros make the length a multiple of p; where it is one, that is none."),
        Mistake("too_many_bytes", "The sum is right, but more bytes went into collectives than the two halves need.",
                "Each element goes into one reduce_scatter, and each rank's summed chunk into one all_gather; "
                "nothing else is called for."),
    ]  # fmt: skip

    def cases(self, rng):
        return [
            sum_case(rng, "n divisible by p", 4, (8,)),
            sum_case(rng, "n divisible by p", 2, (6,), "int64", late=(1,)),
            sum_case(rng, "any n", 3, (10,)),
            sum_case(rng, "any n", 4, (7,), "float32", late=(0,)),
            sum_case(rng, "any n", 5, (3,), "int32"),
            sum_case(rng, "any n", 3, (1,)),
            sum_case(rng, "any n", 1, (5,)),
            rounded(sum_case(np.random.default_rng(1), "any n", 5, (64,))),  # the last four depend on the order, too
        ]

    def named(self, case, name):
        return "not_summed" if name == "overwrites" else name

    def rules(self, case, run):
        """The two halves, and no more bytes than chunks of n / p elements, rounded up, p of them for the first half and
        one for the second; of the widest type, as a detour through it is another mistake."""
        for rank, rank_run in enumerate(run.ranks):
            called = rank_run.collectives
            if any(name.startswith("all_reduce") for name in called):
                return Finding("uses_all_reduce", f"Rank {rank} called all_reduce.")
            for half in ("reduce_scatter", "all_gather"):
                if not any(name.startswith(half) for name in called):
                    return Finding(f"no_{half}", f"Rank {rank} called {', '.join(called) or 'no collective'}.")
        limit = (case.world_size + 1) * -(-total(case).size // case.world_size) * 8
        most = max(run.ranks, key=lambda rank: rank.collective_bytes)
        if most.collective_bytes <= limit:
            return None
        who = f"Rank {run.ranks.index(most)} handed {most.collective_bytes} B to {', '.join(most.collectives)}"
        one_more = most.collective_bytes <= limit + (case.world_size + 1) * 8
        return Finding("pads_for_nothing" if one_more else "too_many_bytes", f"{who}; {limit} B are plenty.")


class RingAllReduce(SumExercise):
    """Ring all-reduce"""

    signature = "ring_all_reduce(x: torch.Tensor) -> torch.Tensor"
    levels = {"even sizes": 1, "any dtype": 1, "uneven sizes": 1, "all links at once": 1}
    reading = staticmethod(contributions.read_chunks)
    mistakes = [
        *CHUNK_READINGS, *FROM_SENDS,
        NEVER_GATHERED.but(why="Each rank holds one finished chunk and never got the others: this is a reduce-scatter.",
                           how="p - 1 more steps pass the finished chunks round."),
        Mistake("one_step_short", "Some sums lack a rank: a step is missing.",
                "Reduce-scatter and all-gather take p - 1 steps each; not p - 2, and not p steps in all.",
                lambda c: the_chunks_that_never_moved(c.parts) if c.p > 2 else None),
        Mistake("overwrites", "Each element holds the values of a single rank: what arrived replaced the others.",
                "In the first half what arrives is added; the second half starts with the finished chunk, "
                "(rank + 1) % p."),
        COUNTED_TWICE.but(how="In the all-gather a finished chunk replaces yours; it is not added to it."),
        Mistake("not_a_ring", "The sum is right, but in a ring a rank talks to its two neighbours only.",
                "Right is (rank + 1) % p, left is (rank - 1) % p."),
        Mistake("too_many_bytes",
                "The sum is right, but more bytes were sent than a ring needs: whole vectors went round, not chunks.",
                "In each step a rank sends one chunk of about n / p elements."),
        Mistake("too_few_chunks", "There are fewer than p chunks: `torch.chunk(x, p)` cuts 9 elements for 4 ranks into "
                "three times 3.", "`torch.tensor_split(x, p)` makes p chunks, some of them empty where n is small."),
        Mistake("uneven_chunks", "The sum is right, but one chunk is much longer than the others, and in every step "
                "somebody waits for it.",
                "No chunk needs more than ceil(n / p) elements: `torch.tensor_split` cuts that way."),
        Mistake("too_many_messages", "The sum is right, but in more messages than 2 (p - 1) per rank.",
                "One chunk is one message."),
        Mistake("takes_turns", "The sum is right, but while some ranks sent the others only listened: half of the "
                "links were idle, and it took twice as long.", ALL_SEND),
        Mistake("unsafe_send", "Round the ring each rank waits in a send for its right neighbour to receive. With "
                "small messages you may be lucky: the MPI library buffers them.", ALL_SEND),
        Mistake("deadlock", "Round the ring each rank waits in a recv, and the send it needs comes later in its "
                "neighbour's program.", ALL_SEND),
        Mistake("one_after_the_other",
                "The sum is right, but the ranks sent one after the other: a single link was busy.", ALL_SEND),
    ]  # fmt: skip
    records = [
        Record("bytes sent by all ranks", "B", lambda case: case.world_size == 8,
               lambda case, run: sum(run.link_bytes.values()), lambda case: 2 * (case.world_size - 1) * nbytes(case),
               lambda case: 2 * (case.world_size - 1) * nbytes(case), MOVES_TWICE),
        Record("virtual time", "s", lambda case: case.world_size == 8,
               lambda case, run: run.elapsed, lambda case: both_ways_round(case)),
    ]  # fmt: skip

    def cases(self, rng):
        return [
            sum_case(rng, "even sizes", 4, (12,), late=(3,)),
            sum_case(rng, "even sizes", 2, (8,)),
            sum_case(rng, "any dtype", 3, (9,), "int64"),
            sum_case(rng, "any dtype", 3, (9,), "bfloat16"),
            sum_case(rng, "any dtype", 2, (6,), "int32"),
            sum_case(rng, "uneven sizes", 3, (10,)),
            sum_case(rng, "uneven sizes", 4, (11,), "float32"),
            sum_case(rng, "uneven sizes", 5, (3,), late=(1,)),
            sum_case(rng, "all links at once", 8, (16,)),
            sum_case(rng, "uneven sizes", 1, (7,)),
            sum_case(rng, "uneven sizes", 3, (10,), "int64"),
            sum_case(rng, "all links at once", 5, (10,)),
        ]

    def of_exception(self, case, kind, text):
        few = kind == "IndexError" and "index out of range" in text and total(case).size % case.world_size
        return "too_few_chunks" if few else None

    def named(self, case, name):
        return "one_step_short" if name == "ranks_missing" else name

    def rules(self, case, run):
        return forbidden_collective(run, but="barrier") or self._too_much(case, run) or self._too_slow(case, run)

    @staticmethod
    def _too_much(case: Case, run: Run) -> Finding | None:
        p, n = case.world_size, total(case).size
        chunk, steps, sent = math.ceil(n / p) * (nbytes(case) // n), 2 * (p - 1), messages(run)
        for sender, receiver in sorted({(e.rank, e.peer) for e in sent}):
            if (receiver - sender) % p not in (1, p - 1):
                return Finding("not_a_ring", f"Rank {sender} sent to rank {receiver}.")
        for rank, rank_run in enumerate(run.ranks):
            if rank_run.sends > steps:
                return Finding(
                    "too_many_messages", f"Rank {rank} sent {rank_run.sends} messages; a ring sends {steps}."
                )
            if rank_run.sent_bytes > steps * chunk:
                detail = f"Rank {rank} sent {rank_run.sent_bytes} B; a ring sends at most {steps * chunk} B."
                return Finding("too_many_bytes", detail)
        largest = max((event.nbytes for event in sent), default=0)
        if largest > chunk:
            detail = f"The largest message had {largest} B; a chunk of ceil(n / p) elements has {chunk} B."
            return Finding("uneven_chunks", detail)
        return None

    @staticmethod
    def _too_slow(case: Case, run: Run) -> Finding | None:
        """2 (p - 1) steps if all ranks send at the same time; twice as many if even and odd ranks take turns."""
        if case.level != "all links at once":
            return None
        p = case.world_size
        taken, needed = time_without_barriers(run) / message_time(case, nbytes(case) // p), 2 * (p - 1)
        if taken <= 1.5 * needed:
            return None
        name = "takes_turns" if taken <= 2 * needed + 1.5 else "one_after_the_other"
        return Finding(name, f"On {p} ranks it took {taken:.0f} steps; a ring needs {needed}.")


def both_ways_round(case: Case) -> float:
    """Virtual seconds of a ring in which every chunk goes both ways, half as far: p / 2 steps to its home and p / 2
    back, and in all but the last of each two messages leave by a rank's card, one behind the other."""
    link, chunk, far = case.network.between, nbytes(case) / case.world_size, case.world_size // 2
    return 2 * (far * link.seconds(chunk) + (case.world_size - 1 - far) * link.occupied(chunk))


def the_chunks_that_never_moved(parts: list[np.ndarray]) -> np.ndarray:
    """The result of only p - 2 reducing steps: chunk i, as it is passed round then, is still rank i - 1's own."""
    return np.concatenate([np.array_split(parts[i - 1], len(parts))[i] for i in range(len(parts))])


SHARED_PORT = Mistake("shared_port", "This is the time with half the bandwidth, as if sending and receiving shared it. "
                      "A port has its full bandwidth in each direction, in both at once.",
                      "In a step of the ring each rank sends one chunk while it receives another: the step takes the "
                      "time of one message.")  # fmt: skip


class AllReduceTime(PlainExercise):
    """The time of an all-reduce"""

    signature = (
        "all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float"
    )
    levels = {"through rank 0, and as a tree": 1, "as a ring": 1}
    mistakes = [
        Mistake("bits_for_bytes", "The bandwidth is in bit/s.", "A byte has 8 bits.", lambda c: c.time(bits=1)),
        Mistake("divided_by_eight", "Bits and bytes were mixed up the wrong way round.",
                "bandwidth / 8 is in bytes per second: nbytes / (bandwidth / 8).", lambda c: c.time(bits=1 / 8)),
        Mistake("one_way", "This is the time of one half.", "The sum has to come back.", lambda c: c.time(halves=1)),
        Mistake("p_for_p_minus_1", "One step too many in each half.",
                "p - 1 messages join p ranks.",
                lambda c: c.time(steps=c.world_size) if c.log2 is None and c.world_size > 1 else None),
        Mistake("latency_once", "The latency was counted once.",
                "Every message pays it, one after the other.", lambda c: c.time(latency=0) + c.latency),
        Mistake("latency_once_a_half", "Each half of the all-reduce pays the latency once.",
                "Every message pays it, one after the other.", lambda c: c.time(latency=0) + 2 * c.latency),
        Mistake("no_latency", "The latency is missing.", "Every message pays it.", lambda c: c.time(latency=0)),
        Mistake("floor_log2", "log2 p was rounded down.", "Round up.", lambda c: c.log2 and c.time(steps=int(c.log2))),
        Mistake("log2_not_rounded", "No step is a fraction.", "Round up.", lambda c: c.log2 and c.time(steps=c.log2)),
        Mistake("natural_logarithm", "This is the natural logarithm of p.",
                "A tree doubles: math.log2.", lambda c: c.log2 and c.time(steps=math.log(c.world_size))),
        Mistake("steps_like_p", "In a tree many messages travel at the same time.",
                "The steps grow like log2 p, not like p.", lambda c: c.time(steps=c.world_size - 1)),
        Mistake("whole_vector_each_step", "In a ring a message holds one chunk, not the whole vector.",
                "One of p chunks has nbytes / p bytes.", lambda c: c.time(part=1)),
        Mistake("too_small_a_message", "Here every message holds the whole vector.",
                "Only the ring cuts it into p chunks.", lambda c: c.time(part=1 / c.world_size)),
        Mistake("all_at_once", "Rank 0 has one port: messages come in one after the other, and answers go out so.",
                "p - 1 messages in, p - 1 out.", lambda c: c.time(steps=1) if c.algorithm == "server" else None),
        Mistake("answers_meanwhile", "Here rank 0 answers while the next message comes in. There is no sum to send "
                "before it has them all.", "p - 1 messages in, and then p - 1 out.",
                lambda c: c.time(halves=1, steps=c.p) if c.algorithm == "server" and c.p > 1 else None),
        Mistake("latency_of_a_tree", "The ring's messages were given the latencies of a tree, 2 ceil(log2 p).",
                "A ring has 2 (p - 1) steps, one after the other, and each takes the latency.",
                lambda c: c.time(latency=0) + 2 * math.ceil(math.log2(c.p)) * c.latency
                if c.algorithm == "ring" else None),
        SHARED_PORT.giving(lambda c: c.time(halves=4) if c.algorithm == "ring" else None),
        SHARED_PORT.but(name="half_the_bandwidth", how="A message of n bytes takes latency + n / bandwidth, whatever "
                        "its sender receives meanwhile.").giving(lambda c: c.time(bits=16)),
        Mistake("both_ends", "Every message was counted at both ends.", "Count it once.", lambda c: c.time(halves=4)),
        Mistake("wrong_unit", "The number is right, but not in seconds.", "Return seconds.", lambda c: c.right * 1e3),
        Mistake("alone_it_waits", "A single rank sends no message, and here it takes the time of one.",
                "p - 1 and log2 p are 0 for one rank: so is the time.",
                lambda c: c.time(steps=1) if c.world_size == 1 else None),
        Mistake("a_level_too_many", "Where p is a power of two, the tree has a step too many in each half.",
                "log2 p rounded up: math.ceil(math.log2(p)), or (p - 1).bit_length(); math.log(p, 2) is not exact.",
                lambda c: c.log2 and c.time(steps=c.world_size.bit_length())),
        Mistake("latency_cut_too", "In the ring the latency was divided by p, too.",
                "A chunk has fewer bytes; its message takes the whole latency.",
                lambda c: c.time(latency=c.latency / c.world_size) if c.algorithm == "ring" else None),
        Mistake("p_chunks", "In the ring each rank sends p chunks in each half here, the whole vector.",
                "A half has p - 1 messages of nbytes / p bytes.",
                lambda c: c.time(steps=c.p) - 2 * c.latency if c.algorithm == "ring" and c.p > 1 else None),
        Mistake("one_chunk_only", "The bytes of one step were counted once.",
                "Every step moves a chunk and takes its time.",
                lambda c: c.right - c.time(latency=0, steps=c.world_size - 1.5) if c.algorithm == "ring" else None),
    ]  # fmt: skip

    def draw(self, rng):
        first, second = self.levels
        # p is chosen so that no two mistakes give the same time: chunks of 1/8 look like bits taken for bytes, 8
        # messages too
        asked = [
            (first, "server", 5),
            (first, "tree", 2**29),  # math.log(2**29, 2) is more than 29
            (first, "tree", 5),
            (second, "ring", 4),
            (second, "ring", 6),
            (first, "tree", 1),
            (second, "ring", 1),
            (first, "server", 1),
            (first, "server", 2),
            (first, "tree", 3),
            (second, "ring", 3),
        ]
        for k, (level, algorithm, p) in enumerate(asked):
            latency, gigabits = float(rng.integers(1, 10)) * 1e-6, float(rng.integers(1, 20)) * 10
            gigabits = 300e-9 if p == 3 and level == first else gigabits  # a modem's 300 bit/s are 37.5 bytes
            size = int(rng.integers(100, 1000)) * 64 * 30 if p < 100 else int(rng.integers(1, 8)) * p
            size *= k < len(asked) - 1  # the last has no bytes, and its messages take their time all the same
            known = {
                "algorithm": algorithm,
                "world_size": p,
                "nbytes": size,
                "latency": latency,
                "bandwidth": gigabits * 1e9,
            }
            says = f"{algorithm}, p = {p}, {size} B, {latency * 1e6:.0f} us, {gigabits:.0f} Gbit/s"
            yield level, known, {"says": says, "atol": 1e-15}
        for p, size in ((6, 6 * 64_000), (4, 0)):
            known = {"algorithm": "tree", "world_size": p, "nbytes": size, "latency": 3e-6, "bandwidth": 4e10}
            yield first, known, {"says": f"tree, p = {p}, {size} B, 3 us, 40 Gbit/s", "atol": 1e-15}

    def right(self, algorithm, world_size, nbytes, latency, bandwidth, steps=None, halves=2, part=None, bits=8):
        """Seconds, with each factor open to a mistake: `steps` of each of the halves, in a message the `part` of the
        vector, `bits` of a byte. Source: Thakur, Rabenseifner, Gropp 2005, sections 3 and 4."""
        if steps is None:
            steps = math.ceil(math.log2(world_size)) if algorithm == "tree" else world_size - 1
        if part is None:
            part = 1 / world_size if algorithm == "ring" else 1
        return halves * steps * (latency + part * nbytes * bits / bandwidth)

    def worked(self, case):
        """Besides, `time`: what is right with some factors otherwise; log2 of p where it counts, in a tree."""
        log2 = math.log2(case.known["world_size"]) if case.known["algorithm"] == "tree" else None
        return SimpleNamespace(**vars(super().worked(case)), time=partial(self.right, **case.known), log2=log2)
