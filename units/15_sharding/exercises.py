"""Unit 15, sharding: memory arithmetic, shards with padding, ZeRO-1, 2 and 3, activation checkpointing, and the norm of
a sharded gradient.

A flat vector of n numbers on p ranks is cut into shards of k = ceil(n / p); the last ones end in zeros.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from types import SimpleNamespace

import numpy as np

from autograder.case import Answer, name_of
from autograder.exercise import ANYTHING, Case, Exercise, Finding, Mistake, Record, Run, Tensor
from autograder.exercises.kinds import PlainExercise, ReportExercise, fits
from autograder.exercises.readings.sharding import (
    BYTES,
    adam,
    called,
    gradients_of,
    held,
    not_sent,
    over_the_links,
    padded,
    parts,
    shards_of,
    size_of_shard,
    tensors,
    through_blocks,
)
from autograder.exercises.source import harness_of
from labkit.interconnect.topology import flat

FORWARD, BACKWARD = 6e-5, 12e-5  # virtual seconds of a layer


def is_right(exercise: Exercise, case: Case, run: Run) -> bool:
    return fits(case, exercise.expected(case), [rank.value for rank in run.ranks])


TOO_MANY = Mistake("too_many_collectives", "The numbers are right, but they took more collectives than are needed.",
                   "Each call costs its latency: communicate everything in one.")  # fmt: skip
MOVES_TOO_MUCH = Mistake("moves_too_much", "The numbers are right, but more bytes moved than the method needs.",
                         "Of the gradients each rank needs its shard of the sum: `dist.reduce_scatter_single`. Of the "
                         "parameters it lacks the other ranks' shards: `dist.all_gather_single`. The optimizer state "
                         "is not communicated.")  # fmt: skip


def numbers(rng, n: int, dtype: str) -> np.ndarray:
    """n numbers of that type; integers are such as no float64 holds, or no float32."""
    if dtype.startswith("int"):
        low, high = (2**53, 2**60) if dtype == "int64" else (2**24, 2**29)
        return (2 * rng.integers(low, high, n) + 1).astype(dtype)
    return rng.integers(1, 200, n).astype("float32") if dtype == "bfloat16" else rng.normal(size=n).astype(dtype)


# -- arithmetic --------------------------------------------------------------------------------------------------------


class MemoryPerRank(PlainExercise):
    """Memory per rank"""

    signature = "memory_per_rank(params: int, p: int, stage: int, optimizer: str, mixed: bool) -> int"
    any_type = "bytes may come as the float that a division gives"
    rtol = 1e-13  # whole numbers
    levels = {"Adam in mixed precision": 1, "other optimizers, float32, and padding": 1, "illegal arguments": 1}
    harness = harness_of(__file__, "memory_per_rank")
    mistakes = [
        Mistake("counts_only_parameters", "These are the bytes of the parameters alone.",
                "Add the gradients and the optimizer state.",
                lambda c: c.sizes and held(c.params, c.p, c.stage, (c.sizes[0], 0, 0))),
        Mistake("no_master_copy", "The optimizer's copy of the parameters in float32 is missing.",
                "In mixed precision the optimizer updates a 4-byte copy: it belongs to the optimizer state.",
                lambda c: c.sizes and c.mixed and held(c.params, c.p, c.stage, (2, 2, c.sizes[2] - 4)) or None),
        Mistake("ignores_mixed", "Parameters and gradients count alike with and without mixed precision.",
                "2 bytes each with it, 4 without.",
                lambda c: c.sizes and held(c.params, c.p, c.stage, parts(c.optimizer, not c.mixed))),
        Mistake("always_adam", "Every optimizer was counted with Adam's state.",
                "Adam keeps two 4-byte numbers, SGD with momentum one, plain SGD none.",
                lambda c: c.sizes and held(c.params, c.p, c.stage, parts("adam", c.mixed))),
        Mistake("copy_without_mixed", "A float32 copy of the parameters was also counted without mixed precision, "
                "where the parameters themselves are in float32.",
                "The copy belongs to mixed precision.",
                lambda c: c.sizes and not c.mixed and
                held(c.params, c.p, c.stage, (4, 4, c.sizes[2] + 4)) or None),
        Mistake("one_part_divided", "Only the component that this stage adds is sharded; those of the earlier stages "
                "are not.",
                "Sharded from a stage upward: stage 3 shards all three.",
                lambda c: c.sizes and sum(
                    size * (size_of_shard(c.params, c.p) if c.stage == first else c.params)
                    for size, first in zip(c.sizes, (3, 2, 1), strict=True))),
        Mistake("not_divided", "Nothing was sharded.",
                "From stage 1 upward each rank holds one shard of the optimizer state.",
                lambda c: c.sizes and held(c.params, c.p, 0, c.sizes)),
        Mistake("one_stage_late", "The component that this stage adds is not sharded: the stage before was counted.",
                "Stage 1: optimizer state; 2: also gradients; 3: also parameters.",
                lambda c: c.sizes and held(c.params, c.p, c.stage - 1, c.sizes)),
        Mistake("one_stage_early", "More is sharded than at this stage: the next one was counted.",
                "Stage 1: optimizer state; 2: also gradients; 3: also parameters.",
                lambda c: c.sizes and held(c.params, c.p, c.stage + 1, c.sizes)),
        Mistake("drops_remainder", "The size of a shard was rounded down: together the ranks hold too few parameters.",
                "ceil(params / p): `-(-params // p)`.",
                lambda c: c.sizes and held(c.params, c.p, c.stage, c.sizes, c.params // c.p)),
        Mistake("forgets_padding", "The size of a shard is a fraction: the padding is missing.",
                "ceil(params / p): `-(-params // p)`.",
                lambda c: c.sizes and held(c.params, c.p, c.stage, c.sizes, c.params / c.p)),
        Mistake("divides_bytes", "The bytes were divided by the number of ranks and rounded up: a shard may end "
                "in the middle of a number.",
                "First the size of a shard, ceil(params / p), then its bytes.",
                lambda c: c.sizes and sum(
                    -(-c.params * size // c.p) if c.stage >= first else c.params * size
                    for size, first in zip(c.sizes, (3, 2, 1), strict=True))),
        Mistake("copy_not_divided", "The optimizer's float32 copy of the parameters is not sharded.",
                "It belongs to the optimizer state: from stage 1 upward each rank has one shard of it.",
                lambda c: c.sizes and c.mixed and
                held(c.params, c.p, c.stage, (2, 2, c.sizes[2] - 4)) + 4 * c.params or None),
        Mistake("moments_in_16_bits", "In mixed precision the moments were counted with 2 bytes each.",
                "4 each, as without it: sums over many steps stay in float32.",
                lambda c: c.sizes and c.mixed and held(c.params, c.p, c.stage, (2, 2, 2 + c.sizes[2] // 2)) or None),
        Mistake("full_parts_padded", "The components that are not sharded at this stage were counted with padding.",
                "Padding belongs to shards: a component in full has `params` numbers.",
                lambda c: c.sizes and c.stage and held(size_of_shard(c.params, c.p) * c.p, c.p, c.stage, c.sizes)),
        Mistake("takes_anything", "An invalid stage or number of ranks got a number of bytes.",
                "Raise ValueError: a wrong plan should not look like a small one."),
    ]  # fmt: skip

    def draw(self, rng):
        sixteen, others, wrong = self.levels
        names = ("params", "p", "stage", "optimizer", "mixed")

        def case(level, *values):
            return level, dict(zip(names, values, strict=True))

        for stage, p in ((0, 8), (1, 64), (2, 16), (3, 32)):
            yield case(sixteen, int(rng.integers(1000, 9000)) * 1024 * 1000, p, stage, "adam", True)
        yield case(others, int(rng.integers(10, 20)) * 8 + 1, 8, 3, "adam", True)
        yield case(others, int(rng.integers(10, 20)) * 4 + 3, 4, 2, "adam", False)
        yield case(others, int(rng.integers(10, 20)) * 8 + 5, 8, 1, "momentum", True)
        yield case(others, int(rng.integers(10, 20)) * 4 + 2, 4, 3, "sgd", False)
        yield case(others, int(rng.integers(10, 20)) * 4 + 1, 4, 1, "sgd", True)
        yield case(others, 3, 8, 3, "adam", True)
        yield case(others, 10, 4, 0, "adam", True)  # nothing is sharded, and nothing is padded
        yield case(others, int(rng.integers(10, 20)), 1, 3, "momentum", False)
        for p, stage in ((8, 4), (8, -1), (0, 3), (-2, 0)):
            yield case(wrong, int(rng.integers(100, 200)), p, stage, "adam", True)
        yield case(wrong, 0, 0, 3, "adam", True)
        yield case(others, 24, 8, 3, "adam", True)  # an odd quotient: (x + 0.5) rounds to the even one
        yield case(others, 2**24 + 1, 1, 0, "sgd", False)  # which float32 does not hold
        yield case(others, 0, 4, 3, "adam", True)

    def draw_further(self, rng):
        _, others, wrong = self.levels
        kinds = (1, "momentum", True), (2, "adam", False), (3, "sgd", False), (3, "momentum", True)
        for stage, optimizer, mixed in kinds:
            p = int(rng.integers(3, 90))
            params = p * int(rng.integers(1000, 10**6)) + int(rng.integers(1, p))
            yield others, {"params": params, "p": p, "stage": stage, "optimizer": optimizer, "mixed": mixed}
        for p, stage in ((int(rng.integers(2, 90)), int(rng.integers(4, 90))), (-int(rng.integers(90)), 1)):
            yield wrong, {"params": int(rng.integers(9999)), "p": p, "stage": stage, "optimizer": "adam", "mixed": True}

    def right(self, params, p, stage, optimizer, mixed):
        possible = 0 <= stage <= 3 and p >= 1
        return int(held(params, p, stage, parts(optimizer, mixed))) if possible else None

    def per_rank(self, case, value):
        if value is None:
            return [{"bytes": ANYTHING, "raises": "ValueError"}]
        return [{"bytes": value, "raises": "nothing"}]

    def worked(self, case):
        c = super().worked(case)
        c.sizes = None if c.right is None else parts(c.optimizer, c.mixed)
        return c

    def read(self, answer, params, p, stage, **case):
        return None if 0 <= stage <= 3 and p >= 1 else "takes_anything"


# -- shards ------------------------------------------------------------------------------------------------------------


class Shard(PlainExercise):
    """Cutting a vector into shards"""

    signature = "shard(flat: torch.Tensor, rank: int, p: int) -> torch.Tensor"
    given = ("flat", "p")
    rank_at = 1
    levels = {"equal shards": 1, "more ranks than numbers": 1}
    harness = harness_of(__file__, "shard")
    mistakes = [
        Mistake("not_padded", "The shards are of different sizes: the last ones are short.",
                "A collective takes the same amount from every rank: pad with zeros.",
                lambda c: tensors([c.values[r * c.k : (r + 1) * c.k] for r in range(c.p)], c.dtype)),
        Mistake("fair_share", "The first ranks got one number more than the others: the fair shares of unit 01.",
                "Equal shards of ceil(n / p) numbers, padded with zeros.",
                lambda c: tensors(np.array_split(c.values, c.p), c.dtype)),
        Mistake("padded_fair_share", "The vector was cut into the fair shares of unit 01, and each of them was padded.",
                "Rank r's numbers begin at r k, with k = ceil(n / p): cut there, then pad.",
                lambda c: tensors([np.pad(one, (0, c.k - len(one))) for one in np.array_split(c.values, c.p)],
                                  c.dtype)),
        Mistake("drops_remainder", "The last numbers are in no shard: n / p was rounded down.",
                "ceil(n / p), not n // p.",
                lambda c: tensors(np.split(c.values[: len(c.values) // c.p * c.p], c.p), c.dtype)),
        Mistake("padded_in_front", "The padding is in front, so all numbers are shifted.",
                "The zeros come after the last number.",
                lambda c: tensors(np.split(np.concatenate([padded(c.values, c.p)[len(c.values):], c.values]), c.p),
                                  c.dtype)),
        Mistake("shard_padded_in_front", "A shard's padding comes before its numbers.",
                "The zeros come after the last number.",
                lambda c: tensors([np.pad(one, (c.k - len(one), 0)) for one in
                                   (c.values[r * c.k : (r + 1) * c.k] for r in range(c.p))], c.dtype)),
        Mistake("every_pth", "Rank r got every p-th number.",
                "A shard is contiguous: numbers r k to (r + 1) k.",
                lambda c: tensors([padded(c.values, c.p)[r :: c.p] for r in range(c.p)], c.dtype)),
        Mistake("padded_by_one_too_many", "There is one shard's worth of padding even where p divides n.",
                "`-n % p` zeros.",
                lambda c: tensors(np.split(np.pad(c.values, (0, c.p - len(c.values) % c.p)), c.p), c.dtype)),
        Mistake("not_side_by_side", "The shards hold what lies side by side in memory, but `flat` is a view here: "
                "its numbers are not neighbours there.",
                "Cut by index, `flat[a:b]`: it takes the strides of the view into account.",
                lambda c: tensors(shards_of(c.in_memory[1 : len(c.values) + 1], c.p), c.dtype)
                if c.p == 2 else None),
        Mistake("padding_not_zeros", "The numbers of the vector are right, but the padding after them is not zeros.",
                "`flat.new_zeros(...)`: empty memory holds anything, and inf or nan times 0 is nan."),
    ]  # fmt: skip

    def draw(self, rng):
        equal, few = self.levels
        for level, n, p, dtype in (
            (equal, 12, 3, "float64"),
            (equal, 10, 4, "float32"),
            (equal, 11, 2, "float64"),
            (equal, 8, 3, "int64"),
            (equal, 7, 1, "float64"),
            (few, 5, 4, "float64"),
            (few, 3, 4, "int32"),
            (few, 2, 5, "float64"),
            (few, 3, 4, "bfloat16"),
            (few, 0, 3, "float64"),
        ):
            values = numbers(rng, n, dtype)
            if (n, p) in ((10, 4), (5, 4)):
                values[-1] = np.inf  # no product with it is zero
            known = {"flat": Tensor(values, dtype), "p": p}
            yield level, known, {"says": f"n = {n}, {p} rank{'s' * (p > 1)}, {dtype}"}

    def right(self, flat, p):
        return tensors(shards_of(flat.values, p), flat.dtype)

    def read(self, answer, flat, p):
        n, shards = len(flat.values), answer if isinstance(answer, list) else []
        if not all(isinstance(one, Tensor) and one.dtype == flat.dtype for one in shards):
            return None
        if [np.shape(one.values) for one in shards] != [(size_of_shard(n, p),)] * p:
            return None
        whole = np.concatenate([one.values for one in shards])
        return "padding_not_zeros" if np.array_equal(whole[:n], flat.values) else None

    def worked(self, case):
        c = super().worked(case)
        c.values, c.dtype = c.flat.values, c.flat.dtype
        c.k = size_of_shard(len(c.values), c.p)
        c.in_memory = np.stack([c.values[::-1], c.values], axis=1).ravel()  # as the harness lays it where p is 2
        return c


class Unshard(Exercise):
    """Gathering the shards"""

    signature = "unshard(part: torch.Tensor, n: int) -> torch.Tensor"
    levels = {"the whole vector": 1, "more ranks than numbers": 1, "in one collective": 1}
    all_hear = True
    mistakes = [
        Mistake("keeps_padding", "The padding was returned, too.", "Cut it to n: `whole[:n]`.",
                lambda c: tensors([np.concatenate(c.shards)] * c.p, c.dtype)),
        Mistake("own_only", "Each rank returns only its own shard.", "`dist.all_gather_single`.",
                lambda c: tensors(c.shards, c.dtype)),
        Mistake("even_shares", "Padding was cut off every shard, as if their sizes differed by one at most. All of "
                "it is at the end of the whole vector.",
                "Gather the shards as they are, and cut the result: `whole[:n]`.",
                lambda c: tensors([np.concatenate([shard[: c.n // c.p + (r < c.n % c.p)]
                                                   for r, shard in enumerate(c.shards)])] * c.p, c.dtype)),
        Mistake("wrong_order", "All numbers are there, but not in the order of the ranks.",
                "Shard r is at r k to (r + 1) k on every rank.",
                lambda c: tensors([np.concatenate(c.shards[::-1])[: c.n]] * c.p, c.dtype)),
        Mistake("interleaved", "The shards' numbers take turns: first come the first numbers of all shards.",
                "One shard after the other: `torch.cat(parts)`, or a row for each shard.",
                lambda c: tensors([np.stack(c.shards, axis=1).ravel()[: c.n]] * c.p, c.dtype)),
        Mistake("own_first", "Each rank has its own shard in front.", "Shard r is at r k to (r + 1) k on every rank.",
                lambda c: tensors([np.concatenate(c.shards[r:] + c.shards[:r])[: c.n] for r in range(c.p)], c.dtype)),
        Mistake("only_one_rank", "Only one rank has the whole vector.", "`dist.all_gather...`, not `dist.gather`."),
        TOO_MANY,
        MOVES_TOO_MUCH.but(how="Each rank contributes its shard, not a vector of n numbers with zeros in place of the "
                               "others: `dist.all_gather_single`."),
    ]  # fmt: skip

    def cases(self, rng):
        whole, few, once = self.levels
        return [
            self._case(rng, level, n, p, dtype, **options)
            for level, n, p, dtype, options in (
                (whole, 12, 3, "float64", {}),
                (whole, 10, 4, "float32", {"late": (1,)}),
                (whole, 8, 3, "int64", {}),
                (whole, 4, 1, "float64", {}),
                (few, 5, 4, "float64", {}),
                (few, 3, 2, "int32", {}),
                (few, 2, 5, "float64", {}),
                (few, 0, 1, "float64", {}),
                (once, 400, 4, "float64", {}),
                (once, 401, 4, "float64", {}),
                (few, 3, 2, "bfloat16", {}),
            )
        ]

    @staticmethod
    def _case(rng, level, n, p, dtype, **options):
        values = numbers(rng, n, dtype)
        values[-1:] = 0  # one of the numbers, no padding
        shards = shards_of(values, p)
        known = {"n": n, "shards": shards, "dtype": dtype, "values": values}
        arguments = [(Tensor(shard, dtype), n) for shard in shards]
        return Case(level, p, arguments, f"n = {n}, {dtype}", known, **options)

    def expected(self, case):
        return tensors([case.known["values"]] * case.world_size, case.known["dtype"])

    def facts(self, case: Case, run: Run):
        right = [isinstance(r.value, Tensor) and np.shape(r.value.values) == (case.known["n"],) and
                 np.allclose(r.value.values, case.known["values"]) for r in run.ranks]  # fmt: skip
        if any(right) and not all(right):
            return "only_one_rank"
        if all(right) and case.level == list(self.levels)[2]:
            p, k = case.world_size, len(case.known["shards"][0])
            if over_the_links(run) > p * (p - 1) * k * BYTES:
                return "moves_too_much"
            calls = max(map(len, called(run)))
            if calls != 1:
                return Finding("too_many_collectives", f"A rank called {calls} collectives.")
        return None


# -- ZeRO-1 and ZeRO-2 -------------------------------------------------------------------------------------------------

NOT_MEAN = (
    Mistake("sum_for_mean", "The moments hold the sum of the gradients, not their mean. (Adam's step hardly shows it: "
            "it divides one moment by the root of the other.)",
            "Divide your shard of the sum by the number of ranks.", lambda c: c.steps(lambda g: g.sum(axis=0))),
    Mistake("steps_on_unaveraged_shard", "Each rank used its own gradient: nothing was summed over the ranks.",
            "Sum the gradients over the ranks, then update your shard.", lambda c: c.own_steps()),
    Mistake("divided_twice", "The gradients were divided by the number of ranks twice.",
            "ReduceOp.AVG has already divided; so has a division before the sum.",
            lambda c: c.steps(lambda g: g.mean(axis=0) / c.p)),
    Mistake("copied_from_one_rank", "All ranks used the gradient of rank 0: those of the others are lost.",
            "A broadcast copies. To add up: reduce_scatter, or all_reduce.", lambda c: c.steps(lambda g: g[0])),
)  # fmt: skip
OTHER_T = Mistake("counts_steps_itself", "The steps are those of a run that has just begun: Adam's correction of the "
                  "moments depends on the number of the step, and this run is already further on.",
                  "Use t as given. A run that is resumed from a checkpoint may start in a new process at step 7.",
                  lambda c: c.from_one() if c.t > 1 else None)  # fmt: skip
STATE_LOST = Mistake("state_not_kept", "The step is right, but m and v are unchanged: the next step starts from zero.",
                     "Change m and v in place: `adam` does, if you pass them and not copies.",
                     lambda c: c.without_state())  # fmt: skip
HALF_WRITTEN = Mistake("not_gathered", "On each rank only its own shard of the parameters was updated.",
                       "After the step every rank needs the other ranks' shards: `dist.all_gather_single`.",
                       lambda c: c.not_gathered())  # fmt: skip
NO_STEP = Mistake("gathers_stale_parameters", "m and v are right, but the parameters are those before the step.",
                  "First update your shard, then the all_gather.", lambda c: c.stale())  # fmt: skip


SIZES = Mistake("RuntimeError", "torch stopped at the line above. If it mentions sizes, a slice at the end of the "
                "vector is shorter than the shards of m and v.",
                "Pad to k p numbers, cut out your shard, and cut the padding off the result.")  # fmt: skip


class ZeroStep(ReportExercise):
    """Adam on shards. A case knows `w` (n,), gradients `g` (steps, micro-batches, ranks, n), the state `m`, `v` (n,)
    and `t`, the number of the first step. What is right are the weights, and the shards of m and v, at the end.
    """

    parts = (("m", "v"), "weights")
    pads = False  # whether the weights and the gradients come padded

    def _known(
        self, rng, level, n, p, steps, micro, says="", t=0, still=False, cancels=False, dtype="float64", **options
    ):
        """cancels: in the first micro-batch every third number is enormous on two ranks, and their sum is 0. It hides
        what is added to it before the ranks have been summed, wherever the sum is kept.
        """
        t = t or (1 if micro == 1 else 3)
        known = {"n": n, "w": rng.normal(size=n), "g": rng.normal(size=(steps, micro, p, n)), "t": t}
        known["lr"] = 0.01 if t == 1 else 0.03
        known["g"] *= not still  # the moments go on where the gradient is zero
        if cancels:
            known["g"][:, 0, :, ::3] = 0
            known["g"][:, 0, :2, ::3] = 2.0**120 * np.array([[1], [-1]])
        known |= {"m": rng.normal(size=n) * (t > 1), "v": rng.uniform(0.5, 1, n) * (t > 1), "dtype": dtype}
        stored = {name: known[name].astype(dtype) for name in "wgmv"}
        known |= {name: values.astype("float64") for name, values in stored.items()}
        m, v = (tensors(shards_of(stored[name], p), dtype) for name in "mv")
        cut = (lambda values: padded(values, p)) if self.pads else (lambda values: values)
        known |= {"m_r": m, "v_r": v, "weights": Tensor(cut(stored["w"]), dtype)}
        known["g_r"] = [[[Tensor(cut(one[r]), dtype) for one in step] for step in stored["g"]] for r in range(p)]
        arguments = [(known["weights"], known["g_r"][r], m[r], v[r], t, known["lr"]) for r in range(p)]
        return Case(level, p, arguments, f"n = {n}{says}", known, **options)

    def _report(self, c, w, m, v) -> list[dict]:
        ms, vs = (shards_of(values, c.p) for values in (m, v))
        return [
            {"m": Tensor(ms[r].astype(c.dtype), c.dtype), "v": Tensor(vs[r].astype(c.dtype), c.dtype),
             "weights": Tensor((padded(one, c.p) if self.pads else one).astype(c.dtype), c.dtype)}
            for r, one in enumerate(w if isinstance(w, list) else [w] * c.p)
        ]  # fmt: skip

    def worked(self, case):
        c = super().worked(case)

        def steps(of, micro=lambda g: g.mean(axis=0), first=c.t):
            """of: what is made of the ranks' gradients of a micro-batch; micro: of the micro-batches' after that."""
            w, m, v = c.w, c.m, c.v
            for t, g in enumerate(c.g, first):
                w, m, v = adam(w, micro(np.array([of(one) for one in g])), m, v, t, c.lr)
            return w, m, v

        def ranks_last():
            (g,) = c.g
            return self._report(c, *adam(c.w, g.mean(axis=0).mean(axis=0), c.m, c.v, c.t, c.lr))

        def step_for_each():
            w, m, v = c.w, c.m, c.v
            for t, g in enumerate(c.g, c.t):
                for one in g:
                    w, m, v = adam(w, one.mean(axis=0), m, v, t, c.lr)
            return self._report(c, w, m, v)

        own = [(r * size_of_shard(c.n, c.p), (r + 1) * size_of_shard(c.n, c.p)) for r in range(c.p)]

        def mixed_state():
            alone = [steps(lambda g, r=r: g[r]) for r in range(c.p)]
            return [np.concatenate([alone[r][i][a:b] for r, (a, b) in enumerate(own)]) for i in range(3)]

        def not_gathered():
            (w, m, v), found = right(), []
            for a, b in own:
                mine = c.w.copy()
                mine[a:b] = w[a:b]
                found.append(mine)
            return self._report(c, found, m, v)

        def right():
            return steps(lambda g: g.mean(axis=0))

        c.from_one = lambda: self._report(c, *steps(lambda g: g.mean(axis=0), first=1))
        c.right = lambda: self._report(c, *right())
        c.steps = lambda *of: self._report(c, *steps(*of))
        c.ranks_last, c.step_for_each = ranks_last, step_for_each
        c.own_steps = lambda: self._report(c, *mixed_state())
        c.not_gathered, c.stale = not_gathered, lambda: self._report(c, c.w, *right()[1:])
        c.without_state = lambda: self._report(c, c.w, c.m, c.v)
        return c

    def expected(self, case):
        return self.worked(case).right()


class Zero1Step(ZeroStep):
    """A step of ZeRO-1"""

    signature = "zero1_step(w: Tensor, g: Tensor, m: Tensor, v: Tensor, t: int, lr: float) -> Tensor"
    levels = {"the weights of sequential Adam": 1, "p does not divide n": 1, "limited traffic": 1}
    inputs = ("w", "g", "m", "v")
    harness = harness_of(__file__, "zero1_step")
    mistakes = [
        *NOT_MEAN, OTHER_T, STATE_LOST, HALF_WRITTEN, NO_STEP,
        Mistake("padding_not_zeros", "The weights are right, but in the padding the moments are not zero.",
                "Pad the gradient with zeros: `g.new_zeros(...)`. Empty memory holds anything."),
        MOVES_TOO_MUCH, TOO_MANY, SIZES,
    ]  # fmt: skip
    records = [
        Record("bytes moved", "B", lambda case: case.level == "limited traffic" and case.known["dtype"] == "float64",
               lambda case, run: over_the_links(run),
               lambda case: 2 * (case.world_size - 1) * case.known["n"] * BYTES,
               lambda case: 2 * (case.world_size - 1) * case.known["n"] * BYTES,
               "it does what an all-reduce does: every rank needs a number that depends on all ranks' gradients."),
    ]  # fmt: skip

    def cases(self, rng):
        equal, odd, counted = self.levels
        return [
            self._known(rng, equal, 12, 3, 2, 1, ", two steps"),
            self._known(rng, equal, 8, 2, 1, 1, ", one step, float32", dtype="float32", late=(0,)),
            self._known(rng, equal, 9, 3, 2, 1, ", two steps of a run that goes on: 7 and 8", t=7),
            self._known(rng, odd, 10, 4, 2, 1, ", two steps"),
            self._known(rng, odd, 2, 3, 1, 1, ", one step"),
            self._known(rng, odd, 5, 1, 1, 1, ", one step of one rank"),
            self._known(rng, equal, 6, 2, 1, 1, ", gradients of zeros", t=7, still=True),
            self._known(rng, counted, 301, 3, 1, 1, ", one step", network=flat(1e-6, 1e-9)),
            self._known(rng, odd, 5, 4, 1, 1, ", one step; rank 3 begins behind the end"),
            self._known(rng, counted, 300, 3, 1, 1, ", one step, float32", dtype="float32", network=flat(1e-6, 1e-9)),
        ]

    def _but_for_padding(self, case: Case, run: Run) -> bool:
        """True if all is right where the shards are not padded."""
        n, k = case.known["n"], size_of_shard(case.known["n"], case.world_size)

        def cut(rank, found):
            whole = isinstance(found, dict) and all(isinstance(found.get(name), Tensor) for name in "mv")
            if not whole or any(np.shape(found[name].values) != (k,) for name in "mv"):
                return found
            return found | {name: replace(found[name], values=found[name].values[: max(0, n - rank * k)])
                            for name in "mv"}  # fmt: skip

        return fits(case, *(map(cut, range(case.world_size), of)
                            for of in (self.expected(case), [rank.value for rank in run.ranks])))  # fmt: skip

    def facts(self, case: Case, run: Run):
        if not is_right(self, case, run):
            return "padding_not_zeros" if self._but_for_padding(case, run) else None
        p, k, steps = case.world_size, size_of_shard(case.known["n"], case.world_size), len(case.known["g"])
        if case.level == list(self.levels)[2]:
            if over_the_links(run) > 3 * (p - 1) * p * k * np.dtype(case.known["dtype"]).itemsize * steps:
                return "moves_too_much"
            if max(map(len, called(run))) > 2 * steps:
                return Finding("too_many_collectives", f"Called: {', '.join(called(run)[0])}.")
        return None


def micro_batch(gradients: list[np.ndarray], k: int) -> tuple[float, str, np.ndarray]:
    """(virtual seconds that a rank of `zero2_step` pays, the timeline's label, its gradient of micro-batch k)."""
    return BACKWARD, f"B{k}", gradients[k]


class Zero2Step(ZeroStep):
    """A step of ZeRO-2"""

    signature = "zero2_step(w: Tensor, gradients: Iterator, m: Tensor, v: Tensor, t: int, lr: float) -> Tensor"
    levels = {"one micro-batch": 1, "several micro-batches": 1, "minimal traffic": 1, "sharded gradients": 1}
    inputs = "free"
    pads = True
    harness = harness_of(__file__, "zero2_step")
    mistakes = [
        Mistake("sums_micro_batches", "The micro-batches were summed: the step is that of a sum, not of a mean.",
                "Divide by the number of micro-batches as well.",
                lambda c: c.steps(lambda g: g.mean(axis=0), lambda g: g.sum(axis=0))),
        Mistake("last_micro_batch", "Only the last micro-batch counts. (They come in one buffer: a list of them "
                "holds the last one several times.)",
                "Use a gradient before the next one overwrites it.",
                lambda c: c.steps(lambda g: g.mean(axis=0), lambda g: g[-1])),
        Mistake("first_micro_batch", "Only the first micro-batch counts.",
                "Go through all of `gradients` before the step.",
                lambda c: c.steps(lambda g: g.mean(axis=0), lambda g: g[0])),
        Mistake("step_for_each", "Adam took a step for each micro-batch.",
                "Add up the gradients of all micro-batches first, then take one step with their mean.",
                lambda c: c.step_for_each()),
        Mistake("halves_again_and_again", "Each micro-batch was averaged with the mean of those before it: the last "
                "one counts half, those before it less and less.",
                "Add up the shards, and divide once by the number of micro-batches.",
                lambda c: c.steps(lambda g: g.mean(axis=0), lambda g: reduce(lambda a, b: (a + b) / 2, g))),
        Mistake("nothing_divided", "Nothing was divided, neither by the ranks nor by the micro-batches.",
                "Divide by both.", lambda c: c.steps(lambda g: g.sum(axis=0), lambda g: g.sum(axis=0))),
        Mistake("last_over_all", "The last micro-batch was divided by the number of micro-batches.",
                "Add the shards up: `own += part`.",
                lambda c: c.steps(lambda g: g.mean(axis=0), lambda g: g[-1] / len(g))),
        *NOT_MEAN, OTHER_T,
        STATE_LOST, HALF_WRITTEN, NO_STEP, MOVES_TOO_MUCH,
        Mistake("holds_a_whole_gradient", "While the next micro-batch is computed, something as large as the full "
                "gradient is still alive beside w and the buffer. (In the case that checks it, two ranks' first "
                "gradients are enormous and cancel: sums over micro-batches lose digits before the ranks are summed.)",
                "Reduce-scatter each gradient as it comes and add up the shards. A scaled copy of the gradient is as "
                "large as the gradient: scale the shard.",
                lambda c: c.ranks_last() if c.g.shape[1] > 1 else None),
    ]  # fmt: skip

    def cases(self, rng):
        one, several, counted, shard = self.levels
        return [
            self._known(rng, one, 12, 3, 1, 1),
            self._known(rng, one, 10, 4, 1, 1, late=(2,)),
            self._known(rng, one, 5, 1, 1, 1, ", one rank, float32", dtype="float32"),
            self._known(rng, several, 12, 2, 1, 4, ", 4 micro-batches"),
            self._known(rng, several, 10, 3, 1, 3, ", 3 micro-batches"),
            self._known(rng, counted, 300, 3, 1, 2, ", 2 micro-batches"),
            self._known(rng, shard, 300, 3, 1, 3, ", 3 micro-batches", cancels=True),
            self._known(rng, several, 7, 1, 1, 3, ", 3 micro-batches, one rank"),
            self._known(rng, counted, 300, 3, 1, 2, ", 2 micro-batches, float32", dtype="float32"),
        ]

    def _known(self, rng, level, n, p, steps, micro, says="", **options):
        """Each rank's gradients are computed where the judge is, on request: what they take in time and when they came
        is no rank's to tell."""
        case = super()._known(rng, level, n, p, steps, micro, says, **options)
        own = [[one.values for one in case.known["g_r"][r][0]] for r in range(p)]
        judges = [name_of(r, *gradients) for r, gradients in enumerate(own)]
        told = [Answer(partial(micro_batch, gradients), (range(micro),)) for gradients in own]
        arguments = [(w, [judge, micro], *rest) for judge, (w, _, *rest) in zip(judges, case.arguments, strict=True)]
        return replace(case, arguments=arguments, answers=dict(zip(judges, told, strict=True)))

    def needs_bytes(self, case):
        """The other ranks' shards of the new weights."""
        n, p, each = case.known["n"], case.world_size, np.dtype(case.known["dtype"]).itemsize
        return [max(0, n - size_of_shard(n, p)) * each * (p > 1)] * p

    def _report(self, c, w, m, v):
        return [{**report, "whole": ANYTHING} for report in super()._report(c, w, m, v)]

    def facts(self, case: Case, run: Run):
        values, last = [rank.value for rank in run.ranks], self.worked(case).ranks_last
        right = is_right(self, case, run)
        p, micro = case.world_size, case.known["g"].shape[1]
        whole = size_of_shard(case.known["n"], p) * p * np.dtype(case.known["dtype"]).itemsize
        if right and case.level == list(self.levels)[2] and over_the_links(run) > (p - 1) * whole * (micro + 1):
            return "moves_too_much"
        if case.level == list(self.levels)[3] and (right or fits(case, last(), values)):
            most = max(value["whole"] for value in values)
            if most:
                return Finding("holds_a_whole_gradient", f"It took {most:.3g} times the memory of w.")
            for rank in range(p):
                waiting = not_sent(run, rank, (p - 1) * whole / p)
                if waiting:
                    return Finding("holds_a_whole_gradient", f"Rank {rank} had {waiting} that it had not sent.")
        return None

    def contradiction(self, case: Case, run: Run) -> str:
        return run.uncharged(each=BACKWARD * case.known["g"].shape[1])


# -- ZeRO-3 ------------------------------------------------------------------------------------------------------------


def least_moved(case: Case) -> int:
    """Bytes of layers of one size, where two at most are alive."""
    p, layers = case.world_size, len(case.known["weights"])
    return (3 * layers - 2) * (p - 1) * p * size_of_shard(case.known["weights"][0].size, p) * BYTES


class Zero3(ReportExercise):
    """Forward and backward pass of ZeRO-3"""

    signature = "zero3_forward_backward(layers: list, x: Tensor, loss_gradient: Callable) -> list[Tensor]"
    levels = {
        "the gradients of the sequential run": 2,
        "minimal traffic": 1,
        "two layers at most": 1,
        "prefetched gathers": 1,
    }
    parts = ("gradients", "below")
    harness = harness_of(__file__, "zero3_forward_backward")
    mistakes = [
        Mistake("sum_for_mean", "These are the sums of the ranks' gradients.", "Divide your shard by the number of "
                "ranks.", lambda c: c.report(c.p)),
        Mistake("divided_twice", "The gradients were divided by the number of ranks twice.",
                "ReduceOp.AVG has already divided; so has a division before the sum, or of the loss's gradient.",
                lambda c: c.report(1 / c.p)),
        Mistake("own_gradients", "Each rank has its shard of its own gradient: nothing was summed over the ranks.",
                "`dist.reduce_scatter_single` adds up and leaves each rank its shard.", lambda c: c.own()),
        Mistake("whole_gradients", "Each rank returns the full gradient.", "Only its shard: "
                "`dist.reduce_scatter_single`.", lambda c: c.whole()),
        Mistake("reversed_layers", "The gradients are right, but in the order of the backward pass.",
                "Entry i belongs to `layers[i]`.", lambda c: c.report(1, -1)),
        Mistake("one_memory", "Layers whose shards are of one size share one tensor: all of them have the gradient "
                "that was written last, that of the first layer.",
                "Each entry of the list needs memory of its own: make it inside the loop.",
                lambda c: c.one_memory()),
        Mistake("ValueError", "A layer got fewer parameters than it has: a shard, or memory that was freed after the "
                "forward pass.", "Gather its parameters again before its backward pass."),
        MOVES_TOO_MUCH.but(why="The gradients are right, but more bytes moved than in two all_gathers and one "
                               "reduce_scatter for each layer."),
        Mistake("keeps_whole_layers", "More than two layers were gathered at a time: nothing is saved. (The check "
                "changes shards between the passes: parameters that were kept are out of date.)",
                "Free a layer's parameters after use (`del`, or one variable for all), and the work handle that you "
                "waited for, which also keeps them alive. In the backward pass gather them again.",
                lambda c: c.kept() if c.changes else None),
        Mistake("keeps_full_gradients", "Full gradients of several layers are alive at the same time.",
                "Reduce-scatter a layer's gradient right after its backward pass, and keep only your shard. With "
                "async_op=True, wait before the next layer's and drop the work handle."),
        Mistake("gathers_too_early", "Layers were computed with parameters that had been gathered more than one layer "
                "ahead: by then more than two are gathered. (The check changes a shard until it is needed.)",
                "Begin the gather of a layer while the one before it computes, not earlier.",
                lambda c: c.early(c.first) if c.changes else None),
        Mistake("waits_for_every_gather", "The gradients are right, but while a layer's parameters are gathered, "
                "no layer computes.",
                "Begin the next layer's all_gather (`async_op=True`) before this layer computes, in both passes, and "
                "wait for it afterwards."),
    ]  # fmt: skip
    records = [
        Record("bytes moved", "B", lambda case: case.level == "two layers at most",
               lambda case, run: over_the_links(run), lambda case: least_moved(case), lambda case: least_moved(case),
               "of L layers, two may stay gathered between the passes: L + (L - 2) all-gathers and L reduce-scatters."),
        Record("gathered layers alive", "B", lambda case: case.level == "two layers at most",
               lambda case, run: max(rank.peak for rank in run.ranks), lambda case: 2 * case.known["weights"][0].nbytes,
               lambda case: 2 * case.known["weights"][0].nbytes, "the next layer is gathered while this one computes.",
               counted=False),
    ]  # fmt: skip

    def cases(self, rng):
        values, moved, freed, ahead = self.levels
        odd, even = [(3, 5), (5, 5), (5, 2)], [(6, 6)] * 5
        return [
            self._case(rng, values, odd, 2),
            self._case(rng, values, odd, 4, late=(1,)),
            self._case(rng, values, [(2, 1), (1, 3)], 3),
            self._case(rng, values, [(3, 4)], 2),
            self._case(rng, values, [(3, 2), (2, 4)], 1),
            self._case(rng, moved, even, 3),
            self._case(rng, freed, even, 3, changes=True),
            self._case(rng, ahead, even, 3, network=flat(1e-5, 1e-8)),
            self._case(rng, moved, odd, 3),
        ]

    @staticmethod
    def _case(rng, level, shapes, p, changes=False, **options):
        """changes: a layer's shards hold its weights only when it is time to gather them. Until then, and from its
        forward pass on until its backward pass is near, they hold others: old weights, kept anywhere, give themselves
        away.
        """
        weights = [rng.normal(0, 0.7, shape) for shape in shapes]
        x, y = rng.normal(size=(p, 3, shapes[0][0])), rng.normal(size=(p, 3, shapes[-1][1]))
        known = {"weights": weights, "x": x, "y": y, "shapes": [list(shape) for shape in shapes]}
        known["charges"] = [FORWARD, BACKWARD]
        known |= {"x[r]": tensors(x), "y[r]": tensors(y)}
        first, last = ([one + changes * rng.normal(0, 0.2, one.shape) for one in weights] for _ in range(2))
        count = len(weights)
        first[:2], last[count - 2 :] = weights[:2], weights[count - 2 :]  # those that a rank may have by then
        known |= {"changes": changes, "first": first, "last": last}
        turns = [("F", k, k + 2, weights[k + 2]) for k in range(count - 2)]
        turns += [("B", k + 2, k, last[k]) for k in range(count - 2)]
        at = [
            [[label, k, i, tensors([shards_of(new.ravel(), p)[r]])[0]] for label, k, i, new in turns * changes]
            for r in range(p)
        ]
        cut = [shards_of(one.ravel(), p) for one in first]
        known["mine[r]"] = [tensors([c[r] for c in cut]) for r in range(p)]
        arguments = [
            (known["shapes"], known["mine[r]"][r], known["x[r]"][r], known["y[r]"][r], known["charges"], at[r])
            for r in range(p)
        ]
        return Case(level, p, arguments, f"{len(shapes)} layer{'s' * (len(shapes) > 1)}", known, **options)

    def worked(self, case):
        c = super().worked(case)

        def shard_of(r, gradients, factor=1.0, order=1):
            return [factor * shards_of(g.ravel(), c.p)[r] for g in gradients][::order]

        def passes(forward, backward):
            found = [gradients_of(forward, x, y, backward) for x, y in zip(c.x, c.y, strict=True)]
            return [gradients for gradients, _ in found], [below for _, below in found]

        def report(per_rank, below):
            return [{"gradients": tensors(of), "below": Tensor(x, "float64"), "F": ANYTHING, "B": ANYTHING,
                     "kept": ANYTHING}
                    for of, x in zip(per_rank, below, strict=True)]  # fmt: skip

        def mean(alone, below, factor=1.0, order=1):
            means = [np.mean(of_layer, axis=0) for of_layer in zip(*alone, strict=True)]
            return report([shard_of(r, means, factor, order) for r in range(c.p)], below)

        def one_memory():
            shards = [shard_of(r, [np.mean(of, axis=0) for of in zip(*alone, strict=True)]) for r in range(c.p)]
            return report([[next(b for b in mine if len(b) == len(a)) for a in mine] for mine in shards], below)

        alone, below = passes(c.weights, c.last)
        c.one_memory = one_memory
        c.report = lambda factor=1, order=1: mean(alone, below, factor, order)
        c.own = lambda: report([shard_of(r, alone[r]) for r in range(c.p)], below)
        c.whole = lambda: report([[padded(np.mean([of[k] for of in alone], axis=0).ravel(), c.p)
                                   for k in range(len(c.weights))]] * c.p, below)  # fmt: skip
        c.kept = lambda: mean(*passes(c.weights, c.weights))
        c.early = lambda backward: mean(*passes(c.first, backward))
        return c

    def expected(self, case):
        return self.worked(case).report()

    def contradiction(self, case: Case, run: Run) -> str:
        return run.uncharged(each=len(case.known["weights"]) * (FORWARD + BACKWARD))

    def facts(self, case: Case, run: Run):
        p, layers = case.world_size, len(case.known["weights"])
        sizes = [size_of_shard(w.size, p) * BYTES for w in case.known["weights"]]
        _, moved, freed, ahead = self.levels
        if case.level == freed:
            forward, backward = (max(rank.value[label] for rank in run.ranks) for label in "FB")
            if forward > 2 or backward > 3:  # in the backward pass someone may have copied a gradient
                most = max(forward, backward)
                return Finding("keeps_whole_layers", f"There were {most} tensors of the size of a layer.")
            c = self.worked(case)
            if any(fits(case, c.early(again), [rank.value for rank in run.ranks]) for again in (c.weights, c.last)):
                return "gathers_too_early"
        if not is_right(self, case, run):
            return None
        if case.level == freed:
            kept = max(rank.value["kept"] for rank in run.ranks)
            if kept > 1:  # the last one's sum may still be under way, or a name still stand for it
                return Finding("keeps_full_gradients", f"Before a backward pass {kept} earlier gradients were alive.")
        if case.level == moved and over_the_links(run) > 3 * (p - 1) * p * sum(sizes):
            return "moves_too_much"
        if case.level == ahead:
            gather, scatter = (
                case.network.collective(kind, range(p)).seconds(nbytes)
                for kind, nbytes in (("all_gather", sizes[0]), ("reduce_scatter", p * sizes[0]))
            )
            computing = layers * (FORWARD + BACKWARD)
            # layer 0 is waited for, and the last one where it is gathered once more
            again = over_the_links(run) > ((p - 1) * p * (3 * layers - 0.5)) * sizes[0]
            if run.elapsed > computing + layers * scatter + (1.5 + again) * gather:
                beside = 1e6 * (run.elapsed - computing)
                return Finding("waits_for_every_gather", f"{beside:.0f} us passed in which no layer was computed.")
        return None


# -- activations -------------------------------------------------------------------------------------------------------

ROWS, WIDTH, INSIDE = 64, 4, 4  # of the activations between blocks; how many times as wide they are inside


class Checkpointed(ReportExercise):
    """Recomputing activations"""

    signature = "checkpointed(blocks: list, x: Tensor, every: int) -> Tensor"
    levels = {"the gradients of the plain run": 1, "memory and recomputation": 2, "dropout": 1}
    parts = ("y", ("gradient of x", "gradients"), "masks")
    talks = False
    inputs = "free"
    harness = harness_of(__file__, "checkpointed")
    mistakes = [
        Mistake("no_gradient_of_x", "The parameters have their gradients, x has none: none reaches the layers below.",
                "The backward of a segment returns the gradient of its input.",
                lambda c: c.without_x()),
        Mistake("no_gradients_of_parameters", "x has its gradient, the parameters have none.",
                "`torch.autograd.backward(y, gy)` also gives the blocks' parameters their gradients; "
                "`torch.autograd.grad` returns only those that it is asked for.",
                lambda c: c.report(c.y, c.gradients[0], [0 * g for g in c.gradients[1:]])),
        Mistake("only_modules", "The parameters of blocks that are functions have no gradients, only those of modules.",
                "A function does not say which parameters it uses: `torch.autograd.backward(y, gy)` reaches them all.",
                lambda c: None if c.draws else
                c.report(c.y, c.gradients[0], [k % len(c.ups) % 2 * g for k, g in enumerate(c.gradients[1:])])),
        Mistake("drops_earlier_gradients", "Gradients that an earlier backward pass had left in `.grad` are gone.",
                "Autograd adds to `.grad`. Do not reset it within a backward pass.",
                lambda c: None if c.draws or c.others else
                {"gradients": tensors([g - k % len(c.ups) % 2 for k, g in enumerate(c.gradients[1:])])}),
        Mistake("last_segment_only", "Not all blocks were run: the last segment is missing.",
                "The last segment is shorter where `every` does not divide the number of blocks.",
                lambda c: c.run(len(c.ups) // c.every * c.every) if c.every <= len(c.ups) else None),
        Mistake("gradients_twice", "The gradients of the parameters are twice as large as they should be.",
                "Backward through a segment once: either autograd adds its gradients up, or you do.",
                lambda c: {"gradients": tensors([2 * g for g in c.gradients[1:]])}),
        Mistake("RuntimeError", "Autograd stopped: the output is not connected to the parameters, or a graph was used "
                "twice.",
                "Recompute a segment under `torch.enable_grad()`, from a detached input that requires a gradient, "
                "and call `torch.autograd.backward(output, gradient)`."),
        Mistake("drops_rng_state", "In the second run the blocks drew other random numbers: the gradient belongs to "
                "another mask than the output.",
                "Save `torch.get_rng_state()` before a segment's first run, and restore it before its second.",
                lambda c: {"masks": "others"} if c.draws else None),
        Mistake("states_of_another_pass", "In the second run the blocks drew the random numbers of another forward "
                "pass: two passes may be under way at a time, as in a pipeline.",
                "Keep the generator's state with the segment that it belongs to, `ctx.state = torch.get_rng_state()`, "
                "not in a list or a dict for all.",
                lambda c: {"masks": "those of another pass"} if c.draws else None),
        Mistake("seeds_itself", "The blocks draw the same numbers in both runs, but not those of the plain run: the "
                "generator was seeded.",
                "Do not seed: save the generator's state before the first run, and restore it before the second.",
                lambda c: {"masks": "not those of the plain run"} if c.draws else None),
        Mistake("generator_set_back", "After `backward` the random number generator stands where a run of the blocks "
                "left it: numbers that have been drawn already are drawn again.",
                "Run a segment again inside `torch.random.fork_rng(devices=[])`, which restores the generator.",
                lambda c: {"masks": "alike, but the generator was set back"} if c.draws else None),
        Mistake("recomputes_too_often", "A block was run more than twice.",
                "Recompute from the input of the segment, not from x."),
        Mistake("keeps_too_much", "More is alive between the passes than the inputs of the segments. (The check "
                "changes a segment's parameters before it is recomputed: activations that were kept belong to the old "
                "ones.)",
                "Run a segment under `torch.no_grad()`, or inside an autograd.Function, and save only its input.",
                lambda c: c.others and c.old_before(len(c.ups)) or None),
        Mistake("peak_too_high", "Little is alive between the passes, but the backward pass needs more than one "
                "segment at a time. (The check changes a segment's parameters when the gradient reaches it.)",
                "Recompute one segment, run backward through it and free it; then the segment before.",
                lambda c: c.others and c.old_before(c.last) or None),
    ]  # fmt: skip
    records = [  # the best is what torch.utils.checkpoint takes, without re-entrance
        Record("bytes alive at the peak", "B", lambda case: (len(case.known["ups"]), case.known["every"]) == (12, 4),
               lambda case, run: max(rank.peak for rank in run.ranks), lambda case: 68_096, counted=False),
    ]  # fmt: skip

    def cases(self, rng):
        values, counted, dropout = self.levels
        return [
            self._case(rng, values, 4, 2),
            self._case(rng, values, 5, 2),
            self._case(rng, values, 2, 3),
            self._case(rng, counted, 12, 1),
            self._case(rng, counted, 12, 4),
            self._case(rng, counted, 11, 3),
            self._case(rng, dropout, 4, 2, draws=True),
        ]

    @staticmethod
    def _case(rng, level, blocks, every, draws=False):
        """A case. Where memory is looked at, the weights change when it is time to recompute their segment:
        intermediate activations that were kept, or computed earlier, give themselves away.
        """
        x, gy = rng.normal(size=(2, ROWS, WIDTH))
        ups = rng.normal(0, 0.4, (blocks, WIDTH, INSIDE * WIDTH))
        downs = rng.normal(0, 0.4, (blocks, INSIDE * WIDTH, WIDTH))
        known = {"x": x, "gy": gy, "ups": ups, "downs": downs, "every": every, "draws": draws}
        again = [of + rng.normal(0, 0.1, of.shape) for of in (ups, downs)]
        known["others"] = others = again if level == list(Checkpointed.levels)[1] else []
        cut = [tensors(of) for of in others]
        arguments = (Tensor(x, "float64"), tensors(ups), tensors(downs), Tensor(gy, "float64"), every, draws, cut)
        return Case(level, 1, arguments, f"{blocks} blocks, every = {every}{', dropout' * draws}", known)

    def worked(self, case):
        c = super().worked(case)

        def run(blocks):
            ups, downs, more = c.ups[:blocks], c.downs[:blocks], len(c.ups) - blocks
            others = c.others and [
                np.concatenate([new[: blocks - c.every], old[blocks - c.every :]]) if more else new
                for new, old in zip(([of[:blocks] for of in c.others]), (ups, downs), strict=True)
            ]
            y, gradients = through_blocks(c.x, ups, downs, c.gy, others, c.every)
            none = [np.zeros_like(c.ups[0]), np.zeros_like(c.downs[0])]
            ups, downs = (gradients[1:][i * blocks : (i + 1) * blocks] for i in (0, 1))
            return c.report(y, gradients[0], [*ups, *none[:1] * more, *downs, *none[1:] * more])

        def report(y, gx, gradients):
            if c.draws:
                return {"y": "drawn", "gradient of x": "drawn", "gradients": "drawn"}
            return {"y": Tensor(y, "float64"), "gradient of x": Tensor(gx, "float64"), "gradients": tensors(gradients)}

        def without_x():
            first = (len(c.ups) - 1) // c.every * c.every
            ups, downs = (c.gradients[1:][i * len(c.ups) : (i + 1) * len(c.ups)] for i in (0, 1))
            kept = [g * (k >= first) for of in (ups, downs) for k, g in enumerate(of)]
            return c.report(c.y, 0 * c.gradients[0], kept)

        c.run, c.report, c.without_x = run, report, without_x

        def old_before(first):
            """Blocks before `first` keep the activations of the forward pass, but have other weights by now."""
            y, gradients = through_blocks(c.x, c.ups, c.downs, c.gy, c.others, c.every, first)
            return c.report(y, gradients[0], gradients[1:])

        c.last = (len(c.ups) - 1) // c.every * c.every
        c.old_before = old_before
        c.y, c.gradients = through_blocks(c.x, c.ups, c.downs, c.gy, c.others, c.every)
        return c

    def expected(self, case):
        c = self.worked(case)
        counts = dict.fromkeys(("kept", "peak", "forwards"), ANYTHING)
        return [{**c.report(c.y, c.gradients[0], c.gradients[1:]), "masks": "alike", **counts}]

    def facts(self, case: Case, run: Run):
        (found,) = [rank.value for rank in run.ranks]
        if case.level != list(self.levels)[1] or not isinstance(found, dict):
            return None
        c = SimpleNamespace(**case.known)
        row, segments = ROWS * WIDTH * BYTES, size_of_shard(len(c.ups), c.every)
        gradients = (2 * c.ups[0].nbytes) * len(c.ups)
        if found["forwards"] > 2:
            return Finding("recomputes_too_often", f"A block ran {found['forwards']} times.")
        for name, most, key in (
            ("keeps_too_much", (segments + 2) * row, "kept"),
            ("peak_too_high", (segments + (INSIDE + 1) * c.every + 3 * INSIDE + 4) * row + gradients, "peak"),
        ):
            if found[key] > most:
                return Finding(name, f"{found[key]:,} B were alive; {most:,} B are enough.")
        return None


# -- one norm ----------------------------------------------------------------------------------------------------------


class ClipShards(ReportExercise):
    """The global norm of sharded gradients"""

    signature = "clip_grad_norm_sharded(shards: list, max_norm: float) -> float"
    levels = {"norm above the limit": 1, "norm below the limit, empty shards, zero gradients": 1, "one number sent": 1}
    parts = ("shards", "norm")
    inputs = "free"
    harness = harness_of(__file__, "clip_grad_norm_sharded")
    mistakes = [
        Mistake("local_norm_clipping", "Each rank clipped by the norm of its own shards: they were scaled differently, "
                "and the gradient's direction changed.",
                "Sum the squares over the ranks, then take the root.",
                lambda c: [c.report(r, c.factor(c.own[r])) for r in range(c.p)]),
        Mistake("norms_added", "The norms of the ranks were added up.", "Add up the squares, then take one root.",
                lambda c: c.scaled_by(sum(c.own))),
        Mistake("norms_of_tensors_added", "The norms of the tensors were added up.",
                "Add up the squares, over all tensors and ranks, then take one root.",
                lambda c: c.scaled_by(sum(c.of_tensors))),
        Mistake("norm_squared", "The root is missing: this is the square of the norm.", "norm = sqrt(sum of squares).",
                lambda c: c.scaled_by(c.norm**2)),
        Mistake("mean_of_squares", "The squares were averaged over the ranks, but the shards are parts of one "
                "gradient, not several gradients.", "Use their sum, not their mean.",
                lambda c: c.scaled_by(c.norm / c.p**0.5)),
        Mistake("largest_norm", "The norm is the largest of the ranks' norms.", "ReduceOp.SUM of the squares.",
                lambda c: c.scaled_by(max(c.own))),
        Mistake("clipped_each_tensor", "Each tensor was clipped by its own norm.", "One norm for all tensors.",
                lambda c: c.each_tensor()),
        Mistake("always_scaled", "A gradient whose norm was small enough was scaled up.", "The factor is at most 1.",
                lambda c: [c.report(r, c.limit / c.norm) for r in range(c.p)] if c.norm else None),
        Mistake("zero_divided", "A gradient of zeros has the norm 0, and 0 / 0 is not a number.",
                "Scale only where norm > max_norm.", lambda c: None if c.norm else
                [c.report(r, np.nan) for r in range(c.p)]),
        Mistake("not_clipped", "The shards are unchanged: nothing was scaled, or only a copy.",
                "In place: `s.mul_(factor)`.", lambda c: [c.report(r, 1.0) for r in range(c.p)]),
        Mistake("clipped_by_value", "Each number was clipped to max_norm.", "Scale all numbers by one factor.",
                lambda c: c.cut_off()),
        Mistake("divides_by_a_little_more", "The factor is max_norm / (norm + 1e-6), as in torch's own function: the "
                "digits beyond the sixth differ.",
                "max_norm / norm; where the norm is zero there is nothing to scale.",
                lambda c: [c.report(r, min(1.0, c.limit / (c.norm + 1e-6))) for r in range(c.p)]),
        Mistake("norm_after", "The shards are right, but the norm after clipping was returned.",
                "Return the norm before clipping.",
                lambda c: [{"norm": np.asarray(min(c.norm, c.limit))}] * c.p),
        Mistake("square_returned", "The shards are right, but the square of the norm was returned.",
                "Return the root: norm = sqrt(sum of squares).",
                lambda c: [{"norm": np.asarray(c.norm**2)}] * c.p),
        Mistake("own_norm_returned", "The shards are right, but each rank returns the norm of its own shards.",
                "Return the norm of the full gradient.", lambda c: [{"norm": np.asarray(one)} for one in c.own]),
        TOO_MANY,
        MOVES_TOO_MUCH.but(how="Each rank's sum of squares is one number: communicate only that."),
    ]  # fmt: skip

    def cases(self, rng):
        long, short, once = self.levels
        plain = [(4, 3), (2, 2)]
        return [
            self._case(rng, long, plain, 0.3),
            self._case(rng, long, [(2, 3, 1), (4, 1, 2), (1, 0, 5)], 0.05, late=(2,)),
            self._case(rng, short, plain, 3.0),
            self._case(rng, short, [(3, 0, 0), (2, 1, 0)], 0.4),
            self._case(rng, short, plain, None),
            self._case(rng, long, plain, 0.0),
            self._case(rng, long, [(4,), (2,)], 0.3),
            self._case(rng, once, [(40, 40, 40)] * 3, 0.5),
            self._case(rng, short, plain, None, 0.0),
        ]

    @staticmethod
    def _case(rng, level, sizes, share, limit=1.0, **options):
        """sizes: of each tensor, the size of each rank's shard. share: of the norm, the limit; None: a gradient of
        zeros, with this limit."""
        p = len(sizes[0])
        shards = [[rng.normal(size=of[r]) * (share is not None) for of in sizes] for r in range(p)]
        norm = float(np.sqrt(sum((one**2).sum() for mine in shards for one in mine)))
        limit = limit if share is None else round(share * norm, 4)
        arguments = [(tensors(mine), limit) for mine in shards]
        known = {"shards": shards, "norm": norm, "limit": limit}
        return Case(level, p, arguments, f"{len(sizes)} tensors, norm {norm:.3g}, max_norm {limit:g}", known, **options)

    def worked(self, case):
        c = super().worked(case)

        def factor(norm):
            return min(1.0, c.limit / norm) if norm else 1.0

        def report(r, factor, norm=c.norm):
            # the norm as an array, so that float64 is asked for
            return {"shards": tensors([factor * one for one in c.shards[r]]), "norm": np.asarray(norm)}

        def own_of(arrays):
            return float(np.sqrt(sum((one**2).sum() for one in arrays)))

        def each_tensor():
            return [{"shards": tensors([factor(own_of([one])) * one for one in mine])} for mine in c.shards]

        def cut_off():
            return [{"shards": tensors([np.clip(one, -c.limit, c.limit) for one in mine])} for mine in c.shards]

        c.own = [own_of(mine) for mine in c.shards]
        c.of_tensors = [own_of([one]) for mine in c.shards for one in mine]
        c.factor, c.report, c.each_tensor, c.cut_off = factor, report, each_tensor, cut_off
        c.scaled_by = lambda norm: [report(r, factor(norm), norm) for r in range(c.p)]
        return c

    def expected(self, case):
        c = self.worked(case)
        return c.scaled_by(c.norm)

    def needs_bytes(self, case):
        return [BYTES * (case.world_size > 1)] * case.world_size  # one number, on which all of the others depend

    def facts(self, case: Case, run: Run):
        if case.level != list(self.levels)[2] or not is_right(self, case, run):
            return None
        p = case.world_size
        if over_the_links(run) > max(2, p) * (p - 1) * BYTES:  # an all-reduce, or an all-gather, of one number
            return "moves_too_much"
        calls = max(map(len, called(run)))
        return Finding("too_many_collectives", f"A rank called {calls} collectives.") if calls > 1 else None
