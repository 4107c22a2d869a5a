"""Unit 03, collectives: a sum and a mean over ranks, and all-reduce built four times over, each time for less."""

from __future__ import annotations

import math

import numpy as np

from autograder.exercise import Case, Diagnosis, Exercise, Finding, Run, Tensor
from autograder.exercises.readings import contributions
from autograder.exercises.readings.contributions import everywhere, sum_case, tensors, total
from labkit.watch.hang import direction

UNIT = "03_collectives"

NO_COMMUNICATION = Diagnosis(
    "Every rank returned its own values: nothing was added up.", "Check that the call is reached and that you return its result."
)
ONLY_ONE_RANK = Diagnosis(
    "Only one rank holds the whole sum. That is a reduce; an all-reduce leaves the sum on every rank.",
    "The sum has to travel back to the others.",
)
DOUBLED_OWN = Diagnosis(
    "Each rank counted its own values twice.",
    "Start from your own values or add them, not both; a rank does not add its own message.",
)
OWN_LEFT_OUT = Diagnosis(
    "Each rank left out its own values.", "The sum is over all ranks: start from a copy of x, not from zeros."
)
COUNTED_TWICE = Diagnosis("Some values are in the sum more than once.", "A sum that is complete is copied, not added again.")
RANKS_MISSING = Diagnosis(
    "The values of some ranks did not get into the sum.", "Follow one number from the rank that is missing."
)
MIXED_UP = Diagnosis(
    "Some values are in the sum twice and others not at all: chunks of different positions were added to each other.",
    "Sender and receiver must mean the same chunk in the same step.",
)
OVERWRITES = Diagnosis(
    "Each element holds the values of a single rank: a chunk that was not finished replaced the others.",
    "In the first half what arrives is added; the second half starts with the chunk that is finished, (rank + 1) % p.",
)
DROPS_REMAINDER = Diagnosis(
    "The last elements were never added up: chunks of n // p elements leave n % p behind.",
    "`torch.tensor_split` cuts into chunks that differ by at most one element; or pad to a multiple of p and cut that off.",
)
KEEPS_PADDING = Diagnosis("The padding is still there: the result must be as long as x.", "Cut it off with `[:n]`.")
WRONG_ORDER = Diagnosis(
    "All sums are right, but the chunks stand in the wrong order.",
    "Chunk i belongs at place i on every rank, whoever had it first.",
)
USES_ALL_REDUCE = Diagnosis(
    "The sum is right, but all_reduce did the work. Here you build it yourself.", "Use send, recv, isend and irecv only."
)
USES_COLLECTIVE = Diagnosis("The sum is right, but a collective did the work.", "Use send, recv, isend and irecv only.")


# What `contributions.read` can find in any sum; an exercise replaces the texts it can say better.
READINGS = {
    "own_only": NO_COMMUNICATION,
    "only_one_rank": ONLY_ONE_RANK,
    "running_sum": Diagnosis(
        "Each rank's sum ends with itself: a running sum. Only the last rank has heard of everybody.",
        "The sum is over all ranks.",
    ),
    "doubled_own": DOUBLED_OWN,
    "own_left_out": OWN_LEFT_OUT,
    "rank_0_left_out": Diagnosis(
        "Rank 0's own values are not in the sum.", "Rank 0 starts from a copy of its own x, not from zeros."
    ),
    "counted_twice": COUNTED_TWICE,
    "ranks_missing": RANKS_MISSING,
    "mixed_up": MIXED_UP,
    "overwrites": Diagnosis(
        "Each element holds the values of a single rank: nothing was added up.", "What arrives is added, not copied."
    ),
    "never_gathered": Diagnosis("Each rank holds the sum of one chunk only.", "The finished chunks have to reach every rank."),
    "drops_remainder": DROPS_REMAINDER,
    "averaged": Diagnosis("This is the mean, not the sum.", "Do not divide."),
    "multiplied": Diagnosis("The sum was multiplied by a number.", "Add each rank's values once, and nothing else."),
}


def only_on_rank_0(case: Case) -> list[Tensor]:
    return tensors(case, [total(case), *case.known["parts"][1:]])


class SumOverRanks(Exercise):
    """Sum over ranks"""

    unit, function = UNIT, "sum_over_ranks"
    signature = "sum_over_ranks(x: torch.Tensor) -> torch.Tensor"
    all_hear = True
    levels = {"the matrix 1..12": 1, "a tensor of its own on each rank": 1}
    diagnoses = {
        **READINGS,
        "only_one_rank": Diagnosis(ONLY_ONE_RANK.why, "`dist.all_reduce` leaves it on every rank, `dist.reduce` on one."),
        "times_world_size": Diagnosis(
            "x was multiplied by the number of ranks. That is the sum only if all ranks hold the same x.",
            "The other ranks' values have to come from the other ranks: `dist.all_reduce`.",
        ),
        "maximum": Diagnosis("This is the largest value over the ranks, not the sum.", "The operation is `dist.ReduceOp.SUM`."),
        "product": Diagnosis("The values were multiplied, not added.", "The operation is `dist.ReduceOp.SUM`."),
        "summed_twice": Diagnosis(
            "The sum was summed again: the result is p times too large.",
            "One all_reduce is enough, and only over the original values.",
        ),
        "written_down": Diagnosis(
            "This is the sum of four matrices 1..12, whatever x is: the answer is written down instead of computed.",
            "Let the ranks add up what they hold: `dist.all_reduce`.",
        ),
    }

    def cases(self, rng):
        level = "a tensor of its own on each rank"
        own = [
            sum_case(rng, level, 4, (3, 4), "float32"),
            sum_case(rng, level, 3, (5,), "int64", late=(1,)),
            sum_case(rng, level, 2, (2, 2, 2), "float64"),
            sum_case(rng, level, 2, (3,), "int32"),
        ]
        k = int(rng.choice([2, 3, 5, 6, 7, 8, 9]))  # not 4: four matrices 1..12 would be one rank's own
        return [self._same(self.MATRIX), self._same(k * self.MATRIX, f", times {k}"), *own]

    MATRIX = np.arange(1, 13).reshape(3, 4)

    @staticmethod
    def _same(matrix: np.ndarray, which: str = "") -> Case:
        known = {"parts": [matrix] * 4, "base": None, "unit": 1, "dtype": "float32"}
        says = f"3 x 4{which}, the same on every rank"
        return Case("the matrix 1..12", 4, (Tensor(matrix, "float32"),), says=says, known=known)

    def expected(self, case):
        return everywhere(case, total(case))

    def misconceptions(self, case):
        parts, p, same = case.known["parts"], case.world_size, case.known["base"] is None
        return {
            "own_only": None if same else tensors(case, parts),  # equal matrices: a mean or a maximum would look the same
            "only_one_rank": only_on_rank_0(case),
            "times_world_size": None if same else tensors(case, [part * p for part in parts]),
            "averaged": None if same or case.known["dtype"] == "int64" else everywhere(case, total(case) / p),
            "maximum": None if same else everywhere(case, np.max(parts, axis=0)),
            "product": everywhere(case, np.prod(np.array(parts, case.known["dtype"]), axis=0, dtype=case.known["dtype"])),
            "doubled_own": tensors(case, [total(case) + part for part in parts]),
            "own_left_out": tensors(case, [total(case) - part for part in parts]) if p > 2 else None,
            "summed_twice": everywhere(case, total(case) * p),
            "written_down": everywhere(case, 4 * self.MATRIX)
            if parts[0].shape == (3, 4) and (not same or parts[0][0, 0] > 1)
            else None,
        }

    def facts(self, case: Case, run: Run):
        return contributions.read(case, run) if case.known["base"] else None


class MeanOverRanks(Exercise):
    """Mean over ranks"""

    unit, function = UNIT, "mean_over_ranks"
    signature = "mean_over_ranks(x: torch.Tensor) -> torch.Tensor"
    levels = {"floating point": 1, "integers": 1}
    may_lose = {
        "int64": "the mean of integers may be of any floating type, float32 too",
        "integers of both widths": "whatever their width, they are converted to floating point",
    }
    # The mean of integers may be of any floating type: the comparison is made in float32.
    harness = """
import torch


def harness(f, x):
    mean = f(x)
    if isinstance(mean, torch.Tensor) and mean.is_floating_point() and not x.is_floating_point():
        mean = mean.to(torch.float32)
    return mean
"""
    diagnoses = {
        "own_only": NO_COMMUNICATION,
        "sum_for_mean": Diagnosis(
            "The values were summed but not divided by the number of ranks.", "Divide by `dist.get_world_size()`."
        ),
        "divided_twice": Diagnosis(
            "The sum was divided by the number of ranks twice.", "Divide before the all_reduce or after it, not both times."
        ),
        "divided_on_one_rank": Diagnosis(
            "Rank 0 holds the mean, the other ranks still hold the sum.", "Every rank divides its own copy."
        ),
        "only_one_rank": Diagnosis(
            "Only rank 0 holds the mean.", "`dist.all_reduce` leaves the sum on every rank, `dist.reduce` on one."
        ),
        "divided_by_p_minus_1": Diagnosis("The sum was divided by p - 1.", "There are p ranks; only their numbers end at p - 1."),
        "own_divided": Diagnosis("Each rank divided its own values by p and nothing was added up.", "Sum over the ranks first."),
        "fixed_world_size": Diagnosis(
            "The sum was divided by a number that does not follow the number of ranks.",
            "Ask `dist.get_world_size()`; never write it down.",
        ),
        "floor_division": Diagnosis(
            "The fraction was cut off.", "`//` rounds down, and so does an integer tensor. Use `/` on a floating-point tensor."
        ),
        "floors_before_the_sum": Diagnosis(
            "Each rank rounded its share before the sum, so up to p fractions were lost.",
            "Convert to floating point before you divide.",
        ),
        "overflows": Diagnosis(
            "The sum did not fit into the input's dtype: uint8 ends at 255 and starts again at 0.",
            "Convert to floating point before the all_reduce, not after it.",
        ),
    }

    def cases(self, rng):
        return [
            sum_case(rng, "floating point", 4, (3, 4), "float32"),
            sum_case(rng, "floating point", 3, (6,), "float64", late=(0,)),
            sum_case(rng, "floating point", 2, (5,), "float64"),
            self._integers(rng, 3, 10, 1000, "int64"),
            self._integers(rng, 4, 100, 256, "uint8"),
        ]

    @staticmethod
    def _integers(rng, world_size, low, high, dtype):
        """Integers of which some sums have a remainder, and of which the remainders add up to more than one."""
        parts = [rng.integers(low, high, 8) for _ in range(world_size)]
        for part in parts[:2]:
            part[0] += 1 - part[0] % world_size if part[0] < high - world_size else 1 - part[0] % world_size - world_size
        parts[-1][0] -= parts[-1][0] % world_size
        arguments = [(Tensor(part, dtype),) for part in parts]
        return Case(
            "integers",
            world_size,
            arguments,
            says=f"n = 8, {dtype}",
            known={"parts": parts, "dtype": "float32", "integer": dtype},
        )

    def expected(self, case):
        return everywhere(case, total(case) / case.world_size)

    def misconceptions(self, case):
        parts, p, whole = case.known["parts"], case.world_size, total(case)
        integer = case.known.get("integer")
        wrong = {
            "sum_for_mean": everywhere(case, whole),
            "divided_twice": everywhere(case, whole / p**2),
            "own_divided": tensors(case, [part / p for part in parts]),
            "divided_by_p_minus_1": everywhere(case, whole / (p - 1)) if p > 2 else None,
            "divided_on_one_rank": tensors(case, [whole / p] + [whole] * (p - 1)),
            "only_one_rank": tensors(case, [whole / p, *parts[1:]]),
            "own_only": tensors(case, parts),
            "fixed_world_size": everywhere(case, whole / 2) if p > 3 else everywhere(case, whole / 4) if p == 3 else None,
        }
        if integer is None:
            return wrong
        stay = {"sum_for_mean": everywhere(case, whole), "own_only": tensors(case, parts), "divided_on_one_rank": None}
        wrong |= {name: value and [Tensor(v.values, integer) for v in value] for name, value in stay.items()}
        wrong["only_one_rank"] = None
        wrong["floor_division"] = [Tensor(whole // p, integer)] * p
        wrong["floors_before_the_sum"] = [Tensor(sum(part // p for part in parts), integer)] * p
        if integer == "uint8":
            wrong["sum_for_mean"] = None
            wrong["overflows"] = everywhere(case, whole % 256 / p)
        return wrong

    def facts(self, case: Case, run: Run):
        """The same mistakes in another dtype than the usual one, and constants other than the usual ones."""
        values = contributions.returned(run)
        whole, p = total(case), case.world_size
        if any(not isinstance(v, np.ndarray) or v.shape != whole.shape or v.dtype.kind not in "iuf" for v in values):
            return None
        values = np.array(values, dtype=np.float64)
        if "integer" in case.known:
            wrapped = whole % 256 if case.known["integer"] == "uint8" else whole
            if any(np.allclose(values, x) for x in (np.floor(whole / p), np.trunc(wrapped / p), np.rint(whole / p))):
                return "overflows" if not np.allclose(values, np.rint(whole / p), atol=1.01) else "floor_division"
            if np.allclose(values, sum(part // p for part in case.known["parts"])):
                return "floors_before_the_sum"
            if np.allclose(values, whole):
                return "sum_for_mean"
            if wrapped is not whole and np.allclose(values, wrapped):
                return "overflows"
        overflown = [whole % 256] if case.known.get("integer") == "uint8" else []
        for added in (whole, *overflown):
            added, there = np.broadcast_to(added, values.shape), values != 0
            if not there.any() or added[~there].any():
                continue
            ratio = added[there] / values[there]
            if np.allclose(ratio, ratio[0]) and not math.isclose(ratio[0], p, rel_tol=1e-4):
                return Finding("fixed_world_size", f"On {p} ranks the sum was divided by {ratio[0]:g}.")
        return None


class ServerAllReduce(Exercise):
    """All-reduce through rank 0"""

    unit, function = UNIT, "server_all_reduce"
    signature = "server_all_reduce(x: torch.Tensor) -> torch.Tensor"
    levels = {"the sum, on every rank": 1, "any dtype and shape": 1}
    diagnoses = {
        **READINGS,
        "rank_0_left_out": Diagnosis(
            "Rank 0's own values are not in the sum.", "Rank 0 starts from a copy of its own x, not from zeros."
        ),
        "answers_too_early": Diagnosis(
            "Rank 0 answered each rank as soon as it had heard from it, with the sum so far.",
            "Two loops: first receive from everybody, then send to everybody.",
        ),
        "uses_all_reduce": USES_ALL_REDUCE,
        "uses_collective": USES_COLLECTIVE,
        "not_through_rank_0": Diagnosis(
            "The sum is right, but here all messages go to rank 0 or come from it.", "Rank 0 is the meeting point."
        ),
        "too_many_messages": Diagnosis(
            "The sum is right, but one message each way is enough: a whole tensor is one message.",
            "Send x itself, not its elements.",
        ),
    }

    def cases(self, rng):
        level = "the sum, on every rank"
        return [
            sum_case(rng, level, 3, (5,), late=(1,)),
            sum_case(rng, level, 2, (4,)),
            sum_case(rng, level, 5, (4,)),
            sum_case(rng, "any dtype and shape", 4, (2, 3), "int64", late=(2,)),
            sum_case(rng, "any dtype and shape", 3, (7,), "bfloat16"),
            sum_case(rng, "any dtype and shape", 2, (3,), "int32"),
        ]

    def expected(self, case):
        return everywhere(case, total(case))

    def misconceptions(self, case):
        parts, p = case.known["parts"], case.world_size
        return {
            "own_only": tensors(case, parts),
            "only_one_rank": only_on_rank_0(case),
            "doubled_own": tensors(case, [total(case) + part for part in parts]),
            "own_left_out": tensors(case, [total(case) - part for part in parts]),
            "rank_0_left_out": everywhere(case, total(case) - parts[0]),
            "answers_too_early": tensors(case, [total(case), *np.cumsum(parts, axis=0)[1:]]) if p > 2 else None,
        }

    def facts(self, case: Case, run: Run):
        finding = contributions.read(case, run) or contributions.forbidden_collectives(run)
        if finding:
            return finding
        for sender, receiver in sorted(contributions.messages_between(run)):
            if 0 not in (sender, receiver):
                return Finding("not_through_rank_0", f"Rank {sender} sent to rank {receiver}.")
        for rank, rank_run in enumerate(run.ranks):
            limit = 1 if rank else case.world_size - 1
            if rank_run.sends > limit:
                return Finding("too_many_messages", f"Rank {rank} sent {rank_run.sends} messages instead of {limit}.")
        return None


class TreeAllReduce(Exercise):
    """All-reduce as a tree"""

    unit, function = UNIT, "tree_all_reduce"
    signature = "tree_all_reduce(x: torch.Tensor) -> torch.Tensor"
    levels = {"powers of two": 1, "any number of ranks": 1, "few steps": 1}
    diagnoses = {
        **READINGS,
        "only_one_rank": Diagnosis(ONLY_ONE_RANK.why, "Walk the tree a second time, from the root down to the leaves."),
        "powers_of_two_only": Diagnosis(
            "The values of some ranks did not get into the sum: this works for 2, 4, 8 ... ranks only.",
            "A partner whose number would be >= p does not exist, and what it should have passed on is lost. Round log2 p up.",
        ),
        "mixed_up": Diagnosis(
            "Some ranks' values are in the sum twice and others' not at all.", "Draw the tree for this number of ranks."
        ),
        "uses_all_reduce": USES_ALL_REDUCE,
        "uses_collective": USES_COLLECTIVE,
        "bottleneck": Diagnosis(
            "The sum is right, but one rank talks to all others, one after the other: its port is the bottleneck.",
            "In a tree no rank talks to more than about log2 p others: pairs first, then pairs of pairs.",
        ),
        "too_many_messages": Diagnosis(
            "The sum is right, but a rank sent or received more messages than a tree needs, 2 ceil(log2 p).",
            "A partial sum of many ranks is one message: pairs first, then pairs of pairs.",
        ),
        "too_many_steps": Diagnosis(
            "The sum is right, but the ranks waited for each other in a long chain: the time grows like p, not like log2 p.",
            "In each step half of the ranks that still hold a partial sum hand it over, all at the same time.",
        ),
    }

    def cases(self, rng):
        return [
            sum_case(rng, "powers of two", 4, (2, 3), "float32", late=(0,)),
            sum_case(rng, "powers of two", 2, (4,)),
            sum_case(rng, "any number of ranks", 3, (5,), "int64", late=(2,)),
            sum_case(rng, "any number of ranks", 5, (4,), "int32"),
            sum_case(rng, "few steps", 16, (3,), "int64"),
        ]

    def expected(self, case):
        return everywhere(case, total(case))

    def misconceptions(self, case):
        parts, p = case.known["parts"], case.world_size
        subtrees = [sum(parts[r : r + (r & -r)]) for r in range(1, p)]
        return {
            "own_only": tensors(case, parts),
            "only_one_rank": tensors(case, [total(case), *subtrees]) if p > 2 else only_on_rank_0(case),
            "doubled_own": tensors(case, [total(case) + part for part in parts]),
            "own_left_out": tensors(case, [total(case) - part for part in parts]) if p > 2 else None,
            "powers_of_two_only": tensors(case, guarded_doubling(parts)) if p & (p - 1) else None,
        }

    def facts(self, case: Case, run: Run):
        p, steps = case.world_size, math.ceil(math.log2(case.world_size))
        finding = contributions.read(case, run)
        if finding and finding.diagnosis == "ranks_missing" and p & (p - 1):
            return Finding("powers_of_two_only", finding.detail)
        finding = finding or contributions.forbidden_collectives(run)
        if finding or case.level != "few steps":
            return finding
        messages = contributions.messages_between(run)
        for rank in range(p):
            partners = {sender for sender, receiver in messages if receiver == rank}
            partners |= {receiver for sender, receiver in messages if sender == rank}
            if len(partners) > 2 * steps:
                return Finding("bottleneck", f"On {p} ranks, rank {rank} talked to {len(partners)} others.")
        taken = contributions.time_without_barriers(run) / message_time(case, nbytes(case))
        if taken > 4 * steps + 0.5:
            return Finding("too_many_steps", f"On {p} ranks it took {taken:.0f} steps; a tree needs {2 * steps}.")
        for what, counts in (("sent", [r.sends for r in run.ranks]), ("received", [r.recvs for r in run.ranks])):
            if max(counts) > 2 * steps:
                return Finding(
                    "too_many_messages", f"On {p} ranks, rank {counts.index(max(counts))} {what} {max(counts)} messages."
                )
        return None


def guarded_doubling(parts: list[np.ndarray]) -> list[np.ndarray]:
    """Everybody swaps sums with rank ^ 1, rank ^ 2, rank ^ 4 ...; who has no such partner sits the step out."""
    sums, distance = list(parts), 1
    while distance < len(parts):
        sums = [mine + (sums[r ^ distance] if r ^ distance < len(parts) else 0) for r, mine in enumerate(sums)]
        distance *= 2
    return sums


def nbytes(case: Case) -> int:
    """Bytes of the whole tensor."""
    itemsize = {"bfloat16": 2, "float32": 4, "int32": 4}.get(case.known["dtype"], 8)
    return total(case).size * itemsize


def message_time(case: Case, size: int) -> float:
    """Virtual seconds of one message of `size` bytes."""
    return case.alpha + size * case.beta


class AllReduceInTwoHalves(Exercise):
    """All-reduce from reduce_scatter and all_gather"""

    unit, function = UNIT, "all_reduce_in_two_halves"
    signature = "all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor"
    levels = {"n divisible by p": 1, "any n": 1}
    diagnoses = {
        **READINGS,
        "wrong_order": WRONG_ORDER,
        "own_chunk_only": Diagnosis(
            "Each rank returned its own summed chunk: this is only the first half.", "all_gather brings the chunks together."
        ),
        "never_gathered": Diagnosis(
            "Each rank has the sum of one chunk only.", "all_gather brings the summed chunks to every rank."
        ),
        "not_summed": Diagnosis(
            "Each element is the value of a single rank: chunks were collected that nobody had added up.",
            "reduce_scatter first; all_gather passes on its output.",
        ),
        "drops_remainder": Diagnosis(
            DROPS_REMAINDER.why, "Pad with zeros to a multiple of p before, and cut the padding off with `[:n]` after."
        ),
        "keeps_padding": KEEPS_PADDING,
        "uses_all_reduce": Diagnosis(
            "The sum is right, but all_reduce did the work.",
            "Use reduce_scatter for the first half and all_gather for the second.",
        ),
        "no_reduce_scatter": Diagnosis(
            "The sum is right, but nothing was reduced and scattered: every rank received all p vectors and added them up.",
            "With reduce_scatter each rank receives and adds only its own chunk: p times fewer bytes.",
        ),
        "no_all_gather": Diagnosis(
            "The sum is right, but the second half is not an all_gather.", "One all_gather passes all chunks on at once."
        ),
        "too_many_bytes": Diagnosis(
            "The sum is right, but more bytes went into the collectives than the two halves need.",
            "Each element goes into one reduce_scatter, and each rank's summed chunk into one all_gather; nothing else is called for.",
        ),
    }

    def cases(self, rng):
        return [
            sum_case(rng, "n divisible by p", 4, (8,)),
            sum_case(rng, "n divisible by p", 2, (6,), "int64", late=(1,)),
            sum_case(rng, "any n", 3, (10,)),
            sum_case(rng, "any n", 4, (7,), "float32", late=(0,)),
            sum_case(rng, "any n", 5, (3,), "int32"),
        ]

    def expected(self, case):
        return everywhere(case, total(case))

    def misconceptions(self, case):
        parts, p, n = case.known["parts"], case.world_size, total(case).size
        longest = -(-n // p)
        padded = np.pad(total(case), (0, p * longest - n))
        shortened = total(case)[: n - n % p]
        collected = np.concatenate([parts[r][r * longest : (r + 1) * longest] for r in range(p)])
        return {
            "own_only": tensors(case, parts),
            "own_chunk_only": tensors(case, np.split(padded, p)),
            "not_summed": everywhere(case, collected),
            "drops_remainder": everywhere(case, shortened) if n % p else None,
            "keeps_padding": everywhere(case, padded) if n % p else None,
            "only_one_rank": only_on_rank_0(case),
        }

    def facts(self, case: Case, run: Run):
        finding = contributions.read_chunks(case, run)
        if finding:
            return Finding("not_summed", finding.detail) if finding.diagnosis == "overwrites" else finding
        for rank, rank_run in enumerate(run.ranks):
            called = rank_run.collectives
            if any(name.startswith("all_reduce") for name in called):
                return Finding("uses_all_reduce", f"Rank {rank} called all_reduce.")
            if not any(name.startswith("reduce_scatter") for name in called):
                return Finding("no_reduce_scatter", f"Rank {rank} called {', '.join(called) or 'no collective'}.")
            if not any(name.startswith("all_gather") for name in called):
                return Finding("no_all_gather", f"Rank {rank} called {', '.join(called)}.")
        return self._too_many_bytes(case, run)

    @staticmethod
    def _too_many_bytes(case: Case, run: Run) -> Finding | None:
        """Chunks of one element more than n // p, so that any padding fits, p of them for the first half and one for the second; of the
        widest type, as a detour through it is another mistake."""
        p, n = case.world_size, total(case).size
        limit = (p + 1) * (n // p + 1) * 8
        rank, most = max(enumerate(rank.collective_bytes for rank in run.ranks), key=lambda pair: pair[1])
        if most <= limit:
            return None
        return Finding(
            "too_many_bytes", f"Rank {rank} handed {most} B to {', '.join(run.ranks[rank].collectives)}; {limit} B are plenty."
        )


class RingAllReduce(Exercise):
    """Ring all-reduce"""

    unit, function = UNIT, "ring_all_reduce"
    signature = "ring_all_reduce(x: torch.Tensor) -> torch.Tensor"
    levels = {"even sizes": 1, "any dtype": 1, "uneven sizes": 1, "all links at once": 1}
    diagnoses = {
        **READINGS,
        "keeps_padding": KEEPS_PADDING,
        "wrong_order": WRONG_ORDER,
        "never_gathered": Diagnosis(
            "Each rank holds one finished chunk and never got the others: this is a reduce-scatter.",
            "p - 1 more steps pass the finished chunks round.",
        ),
        "one_step_short": Diagnosis(
            "Some sums lack a rank: a step is missing.",
            "Reduce-scatter and all-gather take p - 1 steps each; not p - 2, and not p steps in all.",
        ),
        "overwrites": OVERWRITES,
        "counted_twice": Diagnosis(
            "Some values are in the sum more than once.",
            "In the all-gather a finished chunk replaces yours; it is not added to it.",
        ),
        "uses_all_reduce": USES_ALL_REDUCE,
        "uses_collective": USES_COLLECTIVE,
        "not_a_ring": Diagnosis(
            "The sum is right, but in a ring a rank talks to its two neighbours only.",
            "Right is (rank + 1) % p, left is (rank - 1) % p.",
        ),
        "too_many_bytes": Diagnosis(
            "The sum is right, but more bytes were sent than a ring needs: whole vectors went round, not chunks.",
            "In each step a rank sends one chunk of about n / p elements.",
        ),
        "uneven_chunks": Diagnosis(
            "The sum is right, but one chunk is much longer than the others, and in every step somebody waits for it.",
            "No chunk needs more than ceil(n / p) elements: `torch.tensor_split` cuts that way.",
        ),
        "too_many_messages": Diagnosis(
            "The sum is right, but in more messages than 2 (p - 1) per rank.", "One chunk is one message."
        ),
        "takes_turns": Diagnosis(
            "The sum is right, but while some ranks sent the others only listened: half of the links were idle, and it took twice as long.",
            "All ranks send at the same time: start the send with isend, receive, then wait for it.",
        ),
        "unsafe_send": Diagnosis(
            "Round the ring each rank waits in a send for its right neighbour to receive. With small messages you may be lucky: the MPI "
            "library buffers them.",
            "Start the send with isend, receive, then wait for it: all ranks then send at the same time.",
        ),
        "deadlock": Diagnosis(
            "Round the ring each rank waits in a recv, and the send it needs comes later in its neighbour's program.",
            "Start the send with isend, receive, then wait for it: all ranks then send at the same time.",
        ),
        "one_after_the_other": Diagnosis(
            "The sum is right, but the ranks sent one after the other: while one link was busy the others waited.",
            "Every rank posts its send with isend, then receives, then waits: all links carry a chunk in every step.",
        ),
    }

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
        ]

    def expected(self, case):
        return everywhere(case, total(case))

    def misconceptions(self, case):
        parts, p, n = case.known["parts"], case.world_size, total(case).size
        return {
            "own_only": tensors(case, parts),
            "only_one_rank": only_on_rank_0(case),
            "drops_remainder": everywhere(case, total(case)[: n - n % p]) if n % p else None,
            "keeps_padding": everywhere(case, np.pad(total(case), (0, -n % p))) if n % p else None,
            "never_gathered": tensors(case, ring(parts, gather_steps=0)) if n >= p > 2 else None,
            "one_step_short": tensors(case, ring(parts, reduce_steps=p - 2)) if n >= p > 2 else None,
            "doubled_own": tensors(case, [total(case) + part for part in parts]),
            "own_left_out": tensors(case, [total(case) - part for part in parts]) if p > 2 else None,
        }

    def facts(self, case: Case, run: Run):
        finding = contributions.read_chunks(case, run)
        if finding and finding.diagnosis == "ranks_missing":
            return Finding("one_step_short", finding.detail)
        finding = finding or contributions.forbidden_collectives(run)
        return finding or self._too_much_traffic(case, run) or self._too_slow(case, run)

    def _too_much_traffic(self, case: Case, run: Run) -> Finding | None:
        p, n = case.world_size, total(case).size
        for sender, receiver in sorted(contributions.messages_between(run)):
            if (receiver - sender) % p not in (1, p - 1):
                return Finding("not_a_ring", f"Rank {sender} sent to rank {receiver}.")
        limit = 2 * (p - 1) * math.ceil(n / p) * (nbytes(case) // n)
        for rank, rank_run in enumerate(run.ranks):
            if rank_run.sends > 2 * (p - 1):
                return Finding("too_many_messages", f"Rank {rank} sent {rank_run.sends} messages; a ring sends {2 * (p - 1)}.")
            if rank_run.sent_bytes > limit:
                return Finding("too_many_bytes", f"Rank {rank} sent {rank_run.sent_bytes} B; a ring sends at most {limit} B.")
        chunk = math.ceil(n / p) * (nbytes(case) // n)
        largest = max((event.nbytes for event in run.events if direction(event.kind) == "send"), default=0)
        if largest > chunk:
            return Finding(
                "uneven_chunks", f"The largest message had {largest} B; a chunk of ceil(n / p) elements has {chunk} B."
            )
        return None

    def _too_slow(self, case: Case, run: Run) -> Finding | None:
        """2 (p - 1) steps if all ranks send at the same time; twice as many if even and odd ranks take turns."""
        if case.level != "all links at once":
            return None
        p = case.world_size
        taken, needed = contributions.time_without_barriers(run) / message_time(case, nbytes(case) // p), 2 * (p - 1)
        if taken <= 1.5 * needed:
            return None
        name = "takes_turns" if taken <= 2 * needed + 1.5 else "one_after_the_other"
        return Finding(name, f"On {p} ranks it took {taken:.0f} steps; a ring needs {needed}.")


def ring(parts: list[np.ndarray], reduce_steps: int | None = None, gather_steps: int | None = None) -> list[np.ndarray]:
    """What each rank holds after a ring all-reduce with so many steps in each half (p - 1 each: the whole sum)."""
    p = len(parts)
    chunks = [[chunk.copy() for chunk in np.array_split(part, p)] for part in parts]
    for step in range(p - 1 if reduce_steps is None else reduce_steps):
        moving = [chunks[rank][(rank - step) % p].copy() for rank in range(p)]
        for rank in range(p):
            chunks[rank][(rank - 1 - step) % p] += moving[rank - 1]
    for step in range(p - 1 if gather_steps is None else gather_steps):
        moving = [chunks[rank][(rank + 1 - step) % p].copy() for rank in range(p)]
        for rank in range(p):
            chunks[rank][(rank - step) % p] = moving[rank - 1]
    return [np.concatenate(held) for held in chunks]


class AllReduceTime(Exercise):
    """The time of an all-reduce"""

    unit, function = UNIT, "all_reduce_time"
    signature = "all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float"
    runtime = "plain"
    levels = {"through rank 0, and as a tree": 1, "as a ring": 1}
    diagnoses = {
        "bits_for_bytes": Diagnosis(
            "The bandwidth is in bit/s, the size in bytes: the result is too small.", "A byte has 8 bits."
        ),
        "divided_by_eight": Diagnosis(
            "Bits and bytes were mixed up the wrong way round.", "bandwidth / 8 is in bytes per second: nbytes / (bandwidth / 8)."
        ),
        "one_way": Diagnosis(
            "This is the time of one half only.",
            "The sum has to come back: rank 0 answers, the tree is walked down, the ring goes round again.",
        ),
        "p_for_p_minus_1": Diagnosis(
            "One step too many in each half.", "p ranks are joined by p - 1 messages: nobody sends to itself."
        ),
        "latency_once": Diagnosis(
            "The latency was counted once.", "Every message pays the latency, and the messages come one after the other."
        ),
        "no_latency": Diagnosis("The latency is missing.", "Every message costs latency + bytes / bandwidth."),
        "floor_log2": Diagnosis("log2 p was rounded down.", "The last ranks need a step too: round up."),
        "log2_not_rounded": Diagnosis(
            "There is no such thing as a fraction of a step.", "Round log2 p up to a whole number: math.ceil."
        ),
        "natural_logarithm": Diagnosis("This is the natural logarithm of p.", "A tree doubles: math.log2."),
        "steps_like_p": Diagnosis("In a tree many messages travel at the same time.", "The steps grow like log2 p, not like p."),
        "whole_vector_each_step": Diagnosis(
            "In a ring a message holds one chunk, not the whole vector.", "One of p chunks has nbytes / p bytes."
        ),
        "too_small_a_message": Diagnosis("Here every message holds the whole vector.", "Only the ring cuts it into p chunks."),
        "all_at_once": Diagnosis(
            "Rank 0 has one port: the messages of the others come in one after the other, and so do its answers.",
            "p - 1 messages in, p - 1 messages out, one at a time.",
        ),
        "both_ends": Diagnosis(
            "Every message was counted at both ends.", "Sending it and receiving it is the same time, passed once."
        ),
        "wrong_unit": Diagnosis("The number is right, but not in seconds.", "Return seconds."),
        "one_chunk_only": Diagnosis("The bytes of one step were counted once.", "Every step moves a chunk and takes its time."),
    }

    def cases(self, rng):
        first, second = self.levels
        # p is chosen so that no two mistakes give the same time: chunks of 1/8 look like bits taken for bytes, 8 messages too
        asked = [(first, "server", 5), (first, "tree", 16), (first, "tree", 5), (second, "ring", 4), (second, "ring", 6)]
        cases = []
        for level, algorithm, p in asked:
            latency, gigabits = float(rng.integers(1, 10)) * 1e-6, float(rng.integers(1, 20)) * 10e9
            size = int(rng.integers(100, 1000)) * 64 * 30
            says = f"{algorithm}, p = {p}, {size} B, {latency * 1e6:.0f} us, {gigabits / 1e9:.0f} Gbit/s"
            known = {"algorithm": algorithm, "p": p, "size": size, "latency": latency, "bandwidth": gigabits}
            cases.append(Case(level, 1, (algorithm, p, size, latency, gigabits), says=says, known=known, atol=1e-15))
        return cases

    def expected(self, case):
        return [self._time(case)]

    @staticmethod
    def _time(case, half_steps=None, halves=2, chunk=None, latency=1.0, bits=8.0) -> float:
        """The right formula, with each factor open to a mistake. Source: Thakur, Rabenseifner, Gropp 2005, sections 3 and 4."""
        known = case.known
        p = known["p"]
        if half_steps is None:
            half_steps = math.ceil(math.log2(p)) if known["algorithm"] == "tree" else p - 1
        if chunk is None:
            chunk = 1 / p if known["algorithm"] == "ring" else 1.0
        message = latency * known["latency"] + chunk * known["size"] * bits / known["bandwidth"]
        return halves * half_steps * message

    def misconceptions(self, case):
        known, p = case.known, case.known["p"]
        algorithm = known["algorithm"]
        steps = 2 * (math.ceil(math.log2(p)) if algorithm == "tree" else p - 1)
        right = self._time(case)
        wrong = {
            "bits_for_bytes": self._time(case, bits=1.0),
            "divided_by_eight": self._time(case, bits=1 / 8),
            "one_way": self._time(case, halves=1),
            "latency_once": right - (steps - 1) * known["latency"],
            "no_latency": self._time(case, latency=0.0),
            "both_ends": self._time(case, halves=4),
            "wrong_unit": right * 1e6,
        }
        if algorithm == "tree":
            wrong["natural_logarithm"] = self._time(case, half_steps=math.log(p))
            wrong["steps_like_p"] = self._time(case, half_steps=p - 1)
            if p & (p - 1):
                wrong["floor_log2"] = self._time(case, half_steps=math.floor(math.log2(p)))
                wrong["log2_not_rounded"] = self._time(case, half_steps=math.log2(p))
        else:
            wrong["p_for_p_minus_1"] = self._time(case, half_steps=p)
        if algorithm == "server":
            wrong["all_at_once"] = self._time(case, half_steps=1)
        if algorithm == "ring":
            wrong["whole_vector_each_step"] = self._time(case, chunk=1.0)
            wrong["one_chunk_only"] = steps * known["latency"] + 8 * known["size"] / p / known["bandwidth"]
        else:
            wrong["too_small_a_message"] = self._time(case, chunk=1 / p)
        return {name: [value] for name, value in wrong.items()}

    def facts(self, case: Case, run: Run):
        try:
            ratio = float(np.asarray(contributions.returned(run)[0])) / self._time(case)
        except (TypeError, ValueError):
            return None
        return "wrong_unit" if math.isclose(ratio, 1e3, rel_tol=1e-6) else None
