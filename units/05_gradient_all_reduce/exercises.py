"""Unit 05, gradient all-reduce by hand: equal starts, averaged gradients, exact metrics, and a step that knows about
unequal shares."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from autograder.exercise import ANYTHING, Case, Exercise, Finding, Mistake, Run, Tensor
from autograder.exercises.readings import contributions, gradients
from autograder.exercises.readings.gradients import Part, dictionary, gradient_case, weights_in
from autograder.exercises.source import harness_of, reference_of

SAME_ORDER = (
    "All ranks go through the same tensors in the same order; where a rank has nothing to add it brings zeros of the "
    "same shape."
)
# A rank that skips a collective, or takes the parameters in another order, hangs the others: said in the words of this
# unit.
HANGS = [
    Mistake("missing_rank", "A collective is complete only when every rank has called it, and here a rank called fewer "
            "of them than the others.",
            "No `if rank == 0` and no `continue` may decide over a collective unless it decides alike on all ranks: "
            "a rank that has nothing to add brings zeros."),
    Mistake("mismatched_collective", "The ranks called collectives that do not belong together: another operation, "
            "another root, or another tensor.", SAME_ORDER),
    Mistake("mismatched_shape", "The ranks met in one collective with tensors of different sizes.", SAME_ORDER),
]  # fmt: skip
NO_GRADIENT = Mistake("AttributeError", "Python stopped at the line above. If it speaks of None: a parameter that is "
                      "frozen or was not used has no gradient.",
                      "Where `p.grad is None`: leave a frozen parameter alone, and bring zeros for one that is "
                      "trained.")  # fmt: skip
# What `read_average` can find in any average of gradients.
READINGS = [
    *HANGS, NO_GRADIENT,
    NO_GRADIENT.but(name="TypeError"),
    Mistake("no_communication", "Every rank still holds its own gradients: no collective was called.",
            "`dist.all_reduce` adds a tensor up over the ranks and writes the sum into it."),
    Mistake("detached_copy",
            "The ranks communicated, but every gradient in the model is as it was before: the mean went into a copy.",
            "Reduce `p.grad` itself, or write the result back: `p.grad.copy_(...)` or `p.grad = ...`; the optimizer "
            "reads `p.grad`."),
    Mistake("sum_for_mean", "The gradients were summed but not divided by p: every step is p times too long.",
            "Divide by `dist.get_world_size()`."),
    Mistake("divided_twice", "The gradients were divided by p twice: every step is p times too short.",
            "Divide before the all_reduce or after it (ReduceOp.AVG divides by itself), not both times."),
    Mistake("wrong_factor", "All ranks agree, but on a multiple of the mean.",
            "The divisor is `dist.get_world_size()`, and nothing else."),
    Mistake("divided_on_some_ranks", "The sum was divided on some ranks and not on the others, so the ranks step "
            "differently and the models part.",
            "Every rank divides its own copy of the sum."),
    Mistake("only_one_rank", "Only one rank holds the mean, the others step otherwise and the models part.",
            "`dist.all_reduce` leaves the sum on every rank, `dist.reduce` on one."),
    Mistake("own_divided", "Each rank divided its own gradients and nothing was added up.",
            "Sum over the ranks with `dist.all_reduce`, then divide."),
    Mistake("copied_from_one_rank", "All ranks hold the gradients of one rank: what the others computed is lost.",
            "A broadcast copies, MAX and MIN pick one. To add up: `dist.all_reduce` with ReduceOp.SUM."),
    Mistake("unequal_weights", "All ranks agree, but some ranks' gradients count more than others'.",
            "Each rank counts 1 / p in the mean."),
    Mistake("differs_between_ranks", "The ranks hold different mixtures of the gradients, so the models part.",
            "After the all_reduce all ranks hold the same numbers; do nothing with them that depends on the rank."),
    Mistake("some_left_out", "Some parameters were averaged and others forgotten: their copies part.",
            "Go through all of `model.parameters()`."),
    Mistake("half_precision", "The mean is right to two or three digits only: it went through 16-bit numbers, in which "
            "a sum is rounded to their grid.",
            "All-reduce gradients in the type they have. Where fewer bytes are worth it, measure what it costs."),
    Mistake("lost_digits", "The gradients are float64, and the mean is right to seven digits only: it went through "
            "float32 on its way.",
            "All-reduce the gradients in the type they have: `torch.zeros_like(p)`, buffers with `dtype=p.dtype`."),
    Mistake("wrong_place", "The numbers are those of the mean, but they went to the wrong places of the model.",
            "Cut the vector up in the order in which it was put together, each piece as long as its gradient."),
    Mistake("weights_changed", "The parameters themselves were changed.",
            "Averaging touches `p.grad`, not `p`: the step is the optimizer's business."),
    Mistake("buffers_changed", "Buffers were changed too: they hold other values than before the call.",
            "Only `p.grad` of the parameters is averaged; a buffer has no gradient, and stays as it is."),
    Mistake("frozen_with_gradient", "A frozen parameter has a gradient now, of zeros. An optimizer leaves a parameter "
            "alone only where `p.grad` is None: with zeros, weight decay still moves it.",
            "Leave out what is not trained: `if not p.requires_grad: continue`."),
    Mistake("divided_by_contributors", "Where some ranks had no gradient, the sum was divided by how many had one.",
            "A rank without a gradient counts as zero and is counted: the divisor is p for every parameter.",
            lambda c: c.lacking and {part.name: sum(c.brought[part.name]) / max(c.p - len(part.absent), 1)
                                     for part in c.trained}),
    Mistake("left_none", "A rank that had no gradient of its own was left without one, so it does not take the step "
            "that the others take.",
            "The mean belongs into `p.grad` on every rank, also where it was None.",
            lambda c: c.lacking and [{part.name: (r not in part.absent) * c.means[part.name] for part in c.trained}
                                     for r in range(c.p)]),
    Mistake("reduced_twice", "The mean is right, but a tied parameter, which has two names, was sent twice.",
            "`model.parameters()` and `model.named_parameters()` name every parameter once."),
]  # fmt: skip

# What the parameters of a small network are called, and their shapes.
LAYERS = [Part("first.weight", (4, 3)), Part("first.bias", (4,)), Part("last.weight", (2, 4)), Part("last.bias", (2,))]
WITH_BUFFER = [*LAYERS[:2], Part("norm.running_mean", (4,), "buffer")]
TIED = [
    Part("embed.weight", (3, 4)),
    Part("frozen.weight", (2, 5), "frozen"),
    Part("scale", ()),
    Part("hidden.weight", (4, 4)),
    Part("head.weight", (3, 4), "tied to embed.weight"),
    Part("head.bias", (5,)),
]


def branch(*absent: int) -> list[Part]:
    """A network of which a branch was not used on the ranks `absent`."""
    shapes = {"weight": (3, 5), "bias": (7,), "scale": (7,)}  # two of one shape: they may not share their zeros
    unused = [Part(f"branch.{name}", shape, absent=absent) for name, shape in shapes.items()]
    return [*LAYERS[:2], *unused, *LAYERS[2:]]


def without(*absent: int) -> list[Part]:
    """A network of which the ranks `absent` used nothing."""
    return [replace(part, absent=absent) for part in LAYERS]


class GradientExercise(Exercise):
    """The gradients of a model out of given parts are averaged over the ranks.

    A case is one of `gradients.gradient_case`. What a mistake gives, name -> gradient, is computed from what the ranks
    `brought` and its `means` by name; a dict means that all ranks hold it, a list is one dict per rank.
    """

    inputs = ("spec",)  # of the harness; the model's mode is as it was
    harness = harness_of(__file__, "averaged")
    mistakes = READINGS

    def worked(self, case):
        brought, p = case.known["brought"], case.world_size
        means = {name: sum(per_rank) / p for name, per_rank in brought.items()}
        trained = [part for part in case.known["parts"] if part.trained]
        lacking = any(part.absent for part in trained) or None  # of a gradient, on some rank
        return SimpleNamespace(p=p, brought=brought, means=means, trained=trained, lacking=lacking)

    def expected(self, case):
        return self.per_rank(case, self.worked(case).means)

    def per_rank(self, case, value):
        values = value if isinstance(value, list) else [value] * case.world_size
        return [dictionary(case, one, parameters="kept") for one in values]

    def facts(self, case: Case, run: Run):
        """`gradients.read`, told apart by whether anybody communicated, and by whether the parameters were touched."""
        found, left = gradients.read(case, run), {r.value["parameters"] for r in run.ranks if isinstance(r.value, dict)}
        if "changed" in left:
            return Finding("weights_changed", "After the call the parameters had other values than before.")
        if "buffers changed" in left:
            return Finding("buffers_changed")
        if found is None and "frozen with a gradient" in left:
            return Finding("frozen_with_gradient")
        if found and found.diagnosis == "own_only":
            called = sorted({name for rank in run.ranks for name in rank.collectives if name != "barrier"})
            silent = not called and not any(rank.sends for rank in run.ranks)
            detail = f"Called: {', '.join(called)}." if called else ""
            return Finding("no_communication" if silent else "detached_copy", detail)
        return found or sent_twice(case, run)


def sent_twice(case: Case, run: Run) -> Finding | None:
    """`gradients.reduced_twice`, also where the ranks gather, or bring zeros for what is frozen."""
    frozen = sum(int(np.prod(part.shape)) for part in case.known["parts"] if part.kind == "frozen")
    frozen *= {"float32": 4, "float64": 8}[case.known["dtype"]]
    for fewer in (0, frozen):
        ranks = [replace(rank, collective_bytes=rank.collective_bytes - fewer) for rank in run.ranks]
        for rank, as_reduced in enumerate(ranks):
            if set(as_reduced.collectives) - {"barrier"} <= {"all_gather", "all_gather_into_tensor"}:
                ranks[rank] = replace(as_reduced, collectives=["all_reduce"] * bool(as_reduced.collectives))
        if found := gradients.reduced_twice(case, replace(run, ranks=ranks)):
            return found
    return None


BUFFERS = ("buffer", "passing")


def full_width(rng: np.random.Generator, values: np.ndarray, dtype: str) -> np.ndarray:
    """The same numbers to the eye, with as many bits as the type holds: on the way through a narrower one some are
    lost."""
    if dtype == "float64":
        return values  # `contributions.unit` has seen to it
    return (values * (1 + 2.0**-20 * rng.integers(2**4, 2**8, np.shape(values)))).astype(dtype).astype(np.float64)


class BroadcastParameters(Exercise):
    """Equal models at the start"""

    signature = "broadcast_parameters(model: nn.Module) -> None"
    levels = {"the parameters": 1, "frozen parameters and buffers too": 1}
    may_lose = {
        "integers of both widths": "the counter of a batch normalisation is int64 in torch",
    }
    inputs = ("spec",)  # of the harness; the model's mode is as it was
    harness = harness_of(__file__, "broadcast_parameters")
    mistakes = [
        *HANGS,
        Mistake("no_communication", "Every rank still holds its own values: no collective was called.",
                "`dist.broadcast(tensor, src=0)`, on all ranks."),
        Mistake("detached_copy",
                "The ranks communicated, but every model is as it was before: the values of rank 0 went into a copy.",
                "Broadcast into the parameter itself: `p.data`, not a clone; or copy back under `torch.no_grad()`."),
        Mistake("wrong_source", "All ranks hold the values of another rank than 0.", "The source is rank 0: `src=0`."),
        Mistake("averaged", "The models were averaged: equal on all ranks, but no model that anybody initialised.",
                "Copy rank 0's values: `dist.broadcast`."),
        Mistake("summed", "The models were added up.", "`dist.broadcast`, not `dist.all_reduce`."),
        Mistake("buffers_forgotten", "The parameters are equal, the buffers (running means, for example) are not.",
                "`model.buffers()` are part of the state too: go through them as through `model.parameters()`."),
        Mistake("passing_buffers_forgotten", "Buffers that are not in the `state_dict` (`persistent=False`: a mask, a "
                "table of positions) are not equal. A checkpoint does not need them, but the forward pass uses them.",
                "Go through `model.buffers()`, which names all of them; `model.state_dict()` does not."),
        Mistake("lost_digits", "The values are those of rank 0 to some digits only: they went through a narrower type.",
                "Broadcast every tensor in its own dtype: a copy is exact, bit by bit."),
        Mistake("requires_grad_changed",
                "The values are right, but some parameter is trained now that was frozen, or frozen that was trained.",
                "Leave `requires_grad` alone: `p.data`, or `torch.no_grad()`, is all that a broadcast in place needs."),
        Mistake("gradient_changed", "The values are right, but a parameter has a gradient now that had none. With "
                "zeros in `p.grad`, weight decay moves a parameter that an optimizer else leaves alone.",
                "Copy the values only: `p.grad` stays as it is."),
        Mistake("other_memory", "The values are right, but they lie in new memory: whoever holds on to the old one (a "
                "flat bucket of all parameters, a view, a second name of the same buffer) still sees the old values.",
                "Copy into it: `dist.broadcast(t.data, src=0)` or `t.copy_(received)`, not `t.data = received`."),
        Mistake("frozen_forgotten", "Frozen parameters were left as they are: no step ever makes them equal.",
                "Broadcast all of `model.parameters()`, whatever their requires_grad."),
        Mistake("integers_rounded", "An integer buffer arrived rounded: it travelled as floating-point numbers, "
                "of which float32 has 24 bits and float64 53, or in a narrower integer type.",
                "Broadcast every tensor in its own dtype; one vector of floats for all of them does not do."),
        Mistake("some_left_out", "Some tensors are equal on all ranks and others were forgotten.",
                "Go through all of `model.parameters()` and `model.buffers()`."),
        Mistake("times_zero", "Where another rank than 0 held inf there is nan now: its values were multiplied by 0, "
                "and all were added up.",
                "0 times inf is not 0, nor is 0 times nan. Overwrite the values: `dist.broadcast`, or `zero_()` before "
                "an all_reduce."),
        Mistake("another_start", "All ranks hold the same values, but not those that rank 0 had.",
                "Copy rank 0's values to the others; rank 0 keeps its model, which may come from a checkpoint."),
        Mistake("replaced", "The values are right, but the model holds new parameters: an optimizer that was built "
                "before still updates the old ones.",
                "Copy into the old ones: `dist.broadcast(p.data, src=0)` or `p.copy_(...)` under `torch.no_grad()`."),
    ]  # fmt: skip
    FORGOTTEN = {
        frozenset({"buffer"}): "buffers_forgotten",
        frozenset(BUFFERS): "buffers_forgotten",
        frozenset({"passing"}): "passing_buffers_forgotten",
        frozenset({"frozen"}): "frozen_forgotten",
    }

    PLAIN = [Part("first.weight", (3, 4)), Part("first.bias", (3,)), Part("last.weight", (2, 3))]
    WITH_BUFFERS = [
        Part("first.weight", (3, 2)),
        Part("frozen.weight", (2, 4), "frozen"),
        Part("norm.weight", (3,)),
        Part("norm.running_mean", (3,), "buffer"),
        Part("norm.num_batches_tracked", (), "buffer"),
        Part("scale", ()),
        Part("mask", (4,), "passing"),
    ]
    WITHOUT_BIAS = [*PLAIN, Part("norm.bias", (), "none"), Part("causal", (4,), "buffer")]
    TYPES = {"norm.num_batches_tracked": "int64", "causal": "bool"}  # of these names, whatever the others have

    def cases(self, rng):
        first, second = self.levels
        return [
            self._case(rng, first, 3, self.PLAIN, "float32", late=(0,)),
            self._case(rng, first, 2, self.PLAIN, "float64"),
            self._case(rng, second, 4, self.WITH_BUFFERS, "float32"),
            self._case(rng, second, 5, self.WITH_BUFFERS, "float64", late=(2,)),
            self._case(rng, first, 1, self.PLAIN, "float64"),
            self._case(rng, second, 2, self.WITHOUT_BIAS, "float32"),
        ]

    def _case(self, rng, level, p, parts, dtype, **options):
        there = [part for part in parts if part.kind != "none"]
        held = {part.name: contributions.summands(rng, p, part.shape, dtype)[0] for part in there}
        held = {name: [full_width(rng, v, dtype) for v in values] for name, values in held.items()}
        kinds = {part.name: self.TYPES.get(part.name, dtype) for part in there}
        for name, kind in kinds.items():
            if kind == "int64":  # odd and above 2**53: neither a float nor int32 holds rank 0's
                held[name] = [np.rint(values).astype(np.int64) * 2**45 + 2**53 + 1 for values in held[name]]
            if kind == "bool":
                held[name] = [np.arange(values.size) % 2 == (rank > 0) for rank, values in enumerate(held[name])]
        given = [{name: Tensor(values[rank], kinds[name]) for name, values in held.items()} for rank in range(p)]
        specs = [[[part.name, part.kind, own.get(part.name), None] for part in parts] for own in given]
        for name in held.keys() & {"mask", "first.weight"}:
            for values in held[name][1:]:
                values.flat[0] = -np.inf  # 0 times that is no number
        known = {"parts": parts, "held": held, "kinds": kinds}
        return Case(level, p, [(spec,) for spec in specs], f"{len(parts)} tensors, {dtype}", known, **options)

    def expected(self, case):
        held, kinds = case.known["held"], case.known["kinds"]
        tensors = {name: Tensor(np.asarray(values[0]), kinds[name]) for name, values in held.items()}
        return [{**tensors, "parameters": "kept"}] * case.world_size

    def facts(self, case: Case, run: Run):
        held, p = case.known["held"], case.world_size
        found = [rank.value for rank in run.ranks]

        def hold(names, wanted) -> bool:
            """True if rank r holds wanted(name, r), up to what 16 bits keep of it."""
            return all(
                np.shape(value[name].values) == np.shape(held[name][0])
                and np.allclose(value[name].values, wanted(name, rank), rtol=1e-2)
                for rank, value in enumerate(found)
                for name in names
            )

        if any(np.isnan(value[name].values).any() for value in found for name in held):
            return "times_zero"
        right = {name for name in held if hold([name], lambda name, rank: held[name][0])}
        own = {name for name in held if hold([name], lambda name, rank: held[name][rank])}
        if right == set(held):
            said = next((value["parameters"] for value in found if value["parameters"] != "kept"), None)
            return said.replace(" ", "_") if said else self._inexact(case, found)
        if own == set(held):
            return "detached_copy" if any(rank.collectives or rank.sends for rank in run.ranks) else "no_communication"
        sent = [name for name in held if name not in own]
        for source in range(1, p):
            if hold(sent, lambda name, rank, source=source: held[name][source]):
                return Finding("wrong_source", f"They hold the values of rank {source}.")
        if right | own == set(held):
            kinds = frozenset(part.kind for part in case.known["parts"] if part.name in own - right)
            detail = f"Still different: {', '.join(sorted(own - right))}."
            another_type = own - right == {"causal"}  # the other buffers are right
            return Finding("some_left_out" if another_type else self.FORGOTTEN.get(kinds, "some_left_out"), detail)
        for name, factor in (("averaged", p), ("summed", 1)):
            if hold(sent, lambda name, rank, factor=factor: sum(held[name]) / factor):
                return name
        return "another_start" if hold(sent, lambda name, rank: found[0][name].values) else None

    @staticmethod
    def _inexact(case, found) -> Finding | None:
        """A value that is rank 0's within the tolerance of a narrower type, and not the same. Integers first."""
        kinds = case.known["kinds"]
        for name in sorted(kinds, key=lambda name: kinds[name] != "int64"):
            wanted = np.asarray(case.known["held"][name][0]).astype(kinds[name])
            for rank, value in enumerate(found):
                got = np.asarray(value[name].values)
                if np.array_equal(got, wanted):
                    continue
                if kinds[name] == "int64":
                    return Finding("integers_rounded", f"Rank {rank} has {name} = {got}, rank 0 had {wanted}.")
                apart = np.abs(got - wanted).max() / np.abs(wanted).max()
                return Finding("lost_digits", f"Rank {rank}: {name} is off by {apart:.0e} of its value.")
        return None


class AverageGradients(GradientExercise):
    """Average the gradients"""

    signature = "average_gradients(model: nn.Module) -> None"
    levels = {"the mean, on every rank": 1, "frozen and tied parameters": 1, "a branch unused on some ranks": 1}
    reference = reference_of(__file__, "right_in_place")

    def cases(self, rng):
        mean, frozen, absent = self.levels
        return [
            gradient_case(rng, mean, 4, LAYERS, "float32", late=(1,), says="a network of 2 layers, float32"),
            gradient_case(rng, mean, 3, LAYERS, says="a network of 2 layers, float64"),
            gradient_case(rng, mean, 2, LAYERS, says="a network of 2 layers, float64"),
            gradient_case(
                rng, frozen, 3, TIED, "float32", late=(2,), says="one frozen, one tied, one of a single number"
            ),
            gradient_case(rng, absent, 4, branch(1, 2), says="no gradient of the branch on ranks 1 and 2"),
            gradient_case(rng, absent, 5, branch(0), late=(0,), says="no gradient of the branch on rank 0"),
            gradient_case(rng, absent, 3, branch(0, 1, 2), says="no gradient of the branch on any rank"),
            gradient_case(rng, mean, 1, LAYERS, says="a network of 2 layers, on one rank"),
            gradient_case(rng, absent, 3, without(1), says="no gradient at all on rank 1"),
            gradient_case(rng, mean, 2, WITH_BUFFER, says="a buffer that differs between the ranks"),
        ]


class AverageGradientsFlat(GradientExercise):
    """One bucket for all gradients"""

    signature = "average_gradients_flat(model: nn.Module) -> None"
    levels = {"one call": 1, "any memory layout": 1, "frozen, tied, and unused on some ranks": 1}
    reference = reference_of(__file__, "right_cat_split")
    mistakes = [
        *READINGS,
        Mistake("one_call_per_parameter", "The mean is right, but every gradient was sent in a call of its own.",
                "Copy all gradients into one long vector (`torch.cat`), reduce that, and copy the pieces back."),
        Mistake("more_than_one_call", "The mean is right, but it took more or other calls than one collective.",
                "One vector, one `dist.all_reduce`."),
        Mistake("copy_not_written_back", "A gradient whose memory is not contiguous kept its old values: `reshape` "
                "gave a copy of it, and the mean went into that.",
                "Write into the gradient itself: `p.grad.copy_(piece.view(p.shape))`."),
    ]  # fmt: skip

    def cases(self, rng):
        one, layout, frozen = self.levels
        transposed = [LAYERS[0], Part("turned.weight", (3, 5), "transposed"), LAYERS[1], Part("scale", ()), LAYERS[3]]
        turned_on_one = [LAYERS[0], Part("turned.weight", (3, 4), turned=(1,)), LAYERS[1]]
        both = [*TIED[:4], Part("branch.weight", (3, 3), absent=(1,)), *TIED[4:]]
        large = [LAYERS[0], Part("table.weight", (500, 300)), LAYERS[1]]  # more than DDP's first bucket of 1 MiB
        return [
            gradient_case(rng, one, 4, LAYERS, "float32", late=(3,), says="a network of 2 layers, float32"),
            gradient_case(rng, one, 3, LAYERS, says="a network of 2 layers, float64"),
            gradient_case(rng, layout, 2, transposed, says="one gradient not contiguous, one a single number"),
            gradient_case(rng, layout, 5, transposed, says="one gradient not contiguous, one a single number"),
            gradient_case(rng, layout, 3, turned_on_one, says="one gradient not contiguous on rank 1"),
            gradient_case(rng, one, 2, large, says="a table of 1.2 MB, float64"),
            gradient_case(rng, frozen, 3, both, late=(1,), says="one frozen, one tied, no gradient of one on rank 1"),
            gradient_case(rng, one, 1, LAYERS, says="a network of 2 layers, on one rank"),
            gradient_case(rng, frozen, 3, without(1), says="no gradient at all on rank 1"),
            gradient_case(rng, one, 2, WITH_BUFFER, says="a buffer that differs between the ranks"),
        ]

    def facts(self, case: Case, run: Run):
        found, parts = super().facts(case, run), case.known["parts"]
        turned = ", ".join(part.name for part in parts if part.kind == "transposed")
        if found and found.diagnosis == "some_left_out" and turned and found.detail.endswith(f": {turned}."):
            return Finding("copy_not_written_back", found.detail)
        if found and found.diagnosis != "reduced_twice":
            return found
        for rank, rank_run in enumerate(run.ranks):
            called, sent = len(rank_run.collectives), len(case.known["brought"])
            if called != 1:
                name = "one_call_per_parameter" if called >= sent else "more_than_one_call"
                return Finding(name, f"Rank {rank} called {called} collectives for {sent} gradients.")
        return found


class GlobalMetrics(Exercise):
    """Loss and accuracy over all ranks"""

    signature = "global_metrics(losses: torch.Tensor, correct: torch.Tensor) -> tuple[float, float]"
    levels = {"equal shares": 1, "unequal shares": 1, "a rank without samples": 1}
    reference = reference_of(__file__, "right_one_vector")
    mistakes = [
        *HANGS,
        Mistake("own_only", "Each rank reports its own samples only.",
                "Sum the losses, the hits and the counts over the ranks before you divide."),
        Mistake("mean_of_means", "This is the mean of the ranks' means: a sample on a rank with few samples counts "
                "more than one on a rank with many.",
                "Sum over the ranks first: losses, hits and counts. Then divide, once."),
        Mistake("empty_is_nan", "The mean over no sample is not a number (0 / 0), and one NaN in a sum makes it NaN.",
                "Sum before you divide: an empty rank then adds 0 to the sums and 0 to the count."),
        Mistake("empty_left_out", "A rank without samples returned something else than the others.",
                "The result is the same on every rank: return what the sums of all ranks give, there, too."),
        Mistake("sum_for_mean", "The sums were not divided.", "Divide by the number of all samples."),
        Mistake("divided_by_ranks", "The sum over all samples was divided by the number of ranks.",
                "Divide by the number of all samples."),
        Mistake("divided_by_own_count", "The sum over all ranks was divided by the number of samples on this rank.",
                "The counts have to be summed over the ranks too."),
        Mistake("only_one_rank", "Only rank 0 holds the result.",
                "`dist.all_reduce` leaves the sum on every rank, `dist.reduce` on one."),
        Mistake("divided_by_equal_share", "The sum was divided as if every rank had as many samples as one of them.",
                "Count: the shares are not equal."),
        Mistake("percent", "The accuracy is in percent.", "Return a fraction between 0 and 1."),
        Mistake("swapped", "Loss and accuracy have changed places.",
                "Return (mean loss, accuracy).", lambda c: (c.hits.sum() / c.n, c.losses.sum() / c.n)),
        Mistake("integers", "The accuracy lost its fraction.",
                "A sum of booleans is an integer: convert it to floating point before you divide."),
        Mistake("narrow_type", "This is right to some digits only: it was rounded, or the sums were kept in 16 bits.",
                "Add up in float32 or float64 and count in int64; round where you print."),
        Mistake("zero_not_counted", "A sample whose loss is exactly 0 was not counted.",
                "Count the samples, `len(losses)`, not the losses that are not zero."),
        Mistake("hides_nan", "The loss of a sample is nan, and the mean does not show it: a training that has diverged "
                "would look healthy.",
                "Add the losses up as they are: one nan makes the mean nan, on every rank."),
        Mistake("count_overflows", "The counts were kept in a type of 8 bits, which ends at 255.",
                "Count in int64, which is what `torch.tensor(3)` is."),
    ]  # fmt: skip

    def cases(self, rng):
        equal, unequal, empty = self.levels
        return [
            self._case(rng, equal, (4, 4, 4), late=(1,)),
            self._case(rng, equal, (5, 5)),
            self._case(rng, equal, (3001, 3001)),  # counts of 8 bits end before, and odd ones of float16
            self._case(rng, unequal, (5, 2, 9)),
            self._case(rng, unequal, (1, 7, 3, 3), late=(0,)),
            self._case(rng, empty, (3, 0, 8, 2)),
            self._case(rng, empty, (0, 1, 0, 5, 2), late=(2,)),
            self._case(rng, equal, (6,)),
            self._case(rng, equal, (3, 3), diverged=True),
        ]

    @staticmethod
    def _case(rng, level, counts, diverged=False, **options):
        """A case whose ranks have very different losses, so that no two ways of averaging agree. diverged: a loss of
        rank 1 is nan."""
        losses = [full_width(rng, rng.integers(2, 30, n) * (r + 1) / 16, "float32") for r, n in enumerate(counts)]
        losses[int(np.argmax(counts))][-1] = 0  # a loss of nothing is a sample like any other
        if diverged:
            losses[1][1] = np.nan
        correct = []
        for r, n in enumerate(counts):
            hits = (n * (r % 3 + 1) + 3) // 4 if n > 1 else n
            correct.append(rng.permutation(np.arange(n) < hits))
        arguments = [(Tensor(x, "float32"), Tensor(c, "bool")) for x, c in zip(losses, correct, strict=True)]
        says = f"{', '.join(map(str, counts[:-1]))} and {counts[-1]} samples{', one loss is nan' * diverged}"
        known = {"losses": losses, "correct": correct, "counts": counts}
        return Case(level, len(counts), arguments, says=says, known=known, rtol=1e-5, **options)

    def worked(self, case):
        """Per rank the sums of losses and hits and the counts, and their total n."""
        losses, hits = (np.array([values.sum() for values in case.known[name]]) for name in ("losses", "correct"))
        counts, nothing = np.array(case.known["counts"]), sum((own == 0).sum() for own in case.known["losses"])
        return SimpleNamespace(losses=losses, hits=hits, counts=counts, n=counts.sum(), nothing=nothing)

    def expected(self, case):
        c = self.worked(case)
        return self.per_rank(case, (c.losses.sum() / c.n, c.hits.sum() / c.n))

    def per_rank(self, case, value):
        return [value] * case.world_size

    def facts(self, case: Case, run: Run):
        """Loss and accuracy looked at one by one: a student may have treated them differently."""
        pairs, c = (
            np.array([[number(one) for one in value] for value in contributions.returned(run)]),
            self.worked(case),
        )
        if np.isnan(c.losses).any():
            finite = np.isfinite(pairs[:, 0]).all() and np.ptp(pairs[:, 0]) < 1e-6
            return Finding("hides_nan", "") if finite else None
        nan = np.isnan(pairs).any(axis=1)
        if (nan & (c.counts > 0)).any():
            return Finding("empty_is_nan", f"NaN on rank {np.flatnonzero(nan)[0]}.")
        for what, found, sums in (("loss", pairs[:, 0], c.losses), ("accuracy", pairs[:, 1], c.hits)):
            name = self._one(found, sums, c.counts)
            without = sums.sum() / max(c.n - c.nothing, 1)  # the samples whose loss is 0
            misses = not np.isclose(without, sums.sum() / c.n, rtol=1e-6) and np.allclose(found, without, rtol=1e-6)
            if name in (None, "narrow_type") and misses:
                name = "zero_not_counted"
            if name:
                return Finding(name, f"This concerns the {what}.")
        return None

    @staticmethod
    def _one(found, sums, counts) -> str | None:
        """The mistake that the ranks made of their sums; what a rank without samples holds counts only where all else
        is right.
        """
        p, n, total, there = len(counts), counts.sum(), sums.sum(), counts > 0
        own = np.maximum(counts, 1)

        def like(value) -> bool:
            return np.allclose(found[there], np.broadcast_to(value, p)[there], rtol=1e-4)

        if like(total / n):
            alike = np.allclose(found, total / n, rtol=1e-4)
            return "empty_is_nan" if np.isnan(found).any() else None if alike else "empty_left_out"
        ways = (
            ("mean_of_means", (sums / own).mean()),
            ("mean_of_means", (sums / own).sum() / there.sum()),
            ("own_only", sums / own),
            ("own_only", sums),
            ("sum_for_mean", total),
            ("divided_by_ranks", total / p),
            ("percent", 100 * total / n),
            ("divided_by_own_count", total / own),
            ("divided_by_equal_share", total / own / p),
            *(("divided_by_equal_share", total / count / p) for count in counts[there]),
            ("integers", math.floor(total / n)),
            ("integers", np.floor(sums).sum() / n),
        )
        if name := next((name for name, value in ways if like(value)), None):
            return name
        if np.isclose(found[0], total / n, rtol=1e-4):
            return "only_one_rank"
        divisors = (n % 256, n) if total > 255 else (n % 256,)
        if n > 255 and any(
            np.isclose(found[0] * n_, left, rtol=1e-4) for n_ in divisors for left in (total, total % 256)
        ):
            return "count_overflows"
        return "narrow_type" if np.allclose(found, total / n, rtol=1e-2) else None


def number(value: object) -> float:
    """A number, also out of a tensor or an array of one element."""
    return float(np.asarray(value.values if isinstance(value, Tensor) else value).reshape(()))


TIED_WEIGHT = "0.weight"  # has a second name in `train_step`'s model


class TrainStep(Exercise):
    """One step on unequal shares"""

    signature = "train_step(model: nn.Module, x: torch.Tensor, y: torch.Tensor, lr: float) -> float"
    never_alone = "a sum of means has the right step there, and its loss would take its name away"
    levels = {"equal shares": 1, "unequal shares": 1, "a rank without samples": 1}
    may_lose = {
        "float64": "a quotient of two integer tensors is float32 in torch: shares computed so are accepted",
        "int64": "the only integers are labels of a few classes",
        "integers of both widths": "labels are int64 in torch",
    }
    inputs = ("weights",)  # of the harness; the model's mode is as it was
    uses = ("average_gradients", "global_metrics")
    harness = harness_of(__file__, "train_step")
    mistakes = [
        *HANGS,
        Mistake("own_only", "Each rank took the step of its own samples: the models part.",
                "Reduce the gradients over the ranks before the step."),
        Mistake("mean_of_means", "Each rank's mean got the same weight 1 / p, however many samples stand behind it.",
                "Sum the gradients of `reduction='sum'` over the ranks, divide by the number of all samples."),
        Mistake("sum_of_means", "The ranks' mean gradients were added up: the step is about p times too long.",
                "Sum the gradients of all samples, divide by the number of samples on all ranks."),
        Mistake("not_divided", "The gradients of all samples were added up and not divided.",
                "Divide by the number of all samples."),
        Mistake("divided_by_ranks", "The gradients of all samples were divided by the number of ranks, not of samples.",
                "Divide by the number of all samples. Where a function of yours divides by p, multiply by p before "
                "it."),
        Mistake("divided_twice", "The step is p times too short: the gradients were weighted by the share of the "
                "samples and then divided by p as well.",
                "Weighted by count, they only have to be summed: the weights add up to 1 already."),
        Mistake("divided_by_own_count", "The summed gradient was divided by the number of samples on this rank, so "
                "every rank takes another step.",
                "Sum the counts over the ranks too."),
        Mistake("largest_share", "The summed gradient was divided as if every rank had as many samples as the largest.",
                "Sum the counts over the ranks."),
        Mistake("empty_is_nan", "A rank without samples brought NaN (the mean over nothing), and the sum spreads it.",
                "With `reduction='sum'` an empty share gives 0 and gradients of zeros."),
        Mistake("stale_gradients", "Gradients of an earlier step are in this one: `backward` adds to `p.grad`.",
                "Start with `model.zero_grad()`."),
        Mistake("wrong_sign", "The step goes uphill: the loss grows.", "Subtract lr times the gradient."),
        Mistake("no_step", "The parameters are as they were: no step was taken, or one along a gradient of zeros.",
                "p -= lr * gradient, under `torch.no_grad()`. Where there is such a line: a loss that went through "
                "`.item()` or `torch.tensor(...)` is cut off from the model, and backward() leaves no gradient."),
        Mistake("wrong_factor", "The step has the right direction and the wrong length.",
                "lr times the mean gradient over all samples of all ranks."),
        Mistake("only_one_rank", "Only one rank took the right step: the models part.", "All take the same step."),
        Mistake("tied_twice", "A tied parameter, which has two names, took the step twice.",
                "Go through `model.parameters()`, which names every parameter once; the modules one by one do not."),
        Mistake("some_parameters", "Some parameters took the right step and others did not.",
                "Go through all of `model.parameters()`, with one rule for all."),
        Mistake("another_step", "All ranks took the same step, but not the step of plain SGD.",
                "p -= lr * gradient: no momentum, no Adam, no weight decay."),
        Mistake("second_step", "The first step is right, the second is not: something of the first was left over.",
                "`model.zero_grad()` at the start of every step."),
        Mistake("local_loss", "The step is right, but the loss is that of this rank's samples.",
                "Sum losses and counts over the ranks, then divide."),
        Mistake("mean_of_losses", "The step is right, but the loss is the mean of the ranks' means.",
                "Sum losses and counts over the ranks, then divide."),
        Mistake("loss_is_nan", "The step is right, but the loss is not a number: the mean over no samples is 0 / 0.",
                "Sum losses and counts over the ranks, then divide."),
        Mistake("loss_not_divided", "The step is right, the loss is a sum.", "Divide by the number of all samples."),
        Mistake("wrong_loss", "The step is right, the loss is not.",
                "The sum of all samples' losses over their number, on every rank, from before the step."),
    ]  # fmt: skip

    def cases(self, rng):
        equal, unequal, empty = self.levels
        return [
            self._case(rng, equal, [(3, 3), (2, 2)], late=(1,)),
            self._case(rng, equal, [(2, 2, 2), (3, 3, 3)]),
            self._case(rng, unequal, [(5, 1, 2), (2, 4, 3)]),
            self._case(rng, unequal, [(1, 2, 3, 7), (4, 1, 1, 1)], late=(3,)),
            self._case(rng, empty, [(2, 3, 0, 4), (0, 5, 2, 1)]),
            self._case(rng, empty, [(3, 1, 1, 0, 0), (1, 0, 0, 0, 0)], late=(4,)),
            self._case(rng, equal, [(2, 2), (3, 3)], rows=(2,), fresh=True),
            self._case(rng, empty, [(2, 0, 3), (1, 2, 0)], "float32", fresh=True),
        ]

    @staticmethod
    def _case(rng, level, counts, dtype="float64", rows=(), fresh=False, **options):
        """A case of two minibatches, with counts[step][rank] samples on each rank. rows: a sample has so many, and the
        model adds them up. fresh: there are no gradients of a step before."""
        weights = [rng.normal(size=shape) for shape in ((5, 4), (5,), (3, 5), (3,))]
        steps = [[(rng.normal(size=(n, *rows, 4)), rng.integers(0, 3, n)) for n in step] for step in counts]
        lr = float(rng.integers(5, 15)) / 19  # 19: no product of lr with a number of ranks or samples is 1
        p = len(counts[0])
        arguments = []
        for rank in range(p):
            shares = [[Tensor(x, dtype), Tensor(y, "int64")] for x, y in (step[rank] for step in steps)]
            arguments.append(([Tensor(w, dtype) for w in weights], shares, lr, *[True] * fresh))
        if rows:
            steps = [[(x.sum(axis=1), y) for x, y in step] for step in steps]
        says = f"{', '.join(map(str, counts[0][:-1]))} and {counts[0][-1]} samples, then {sum(counts[1])} more"
        says += f", {dtype}" * (dtype != "float64") + f", a sample is {' x '.join(map(str, rows))} x 4" * bool(rows)
        known = {"weights": weights, "steps": steps, "lr": lr, "dtype": dtype}
        return Case(level, p, arguments, says=says, known=known, rtol=1e-5, atol=1e-6, **options)

    NAMES = ("0.weight", "0.bias", "2.weight", "2.bias")

    def expected(self, case):
        """The weights after plain SGD on the samples of all ranks together."""
        weights, losses, after = case.known["weights"], [], []
        for shares in case.known["steps"]:
            x, y = (np.concatenate(part) for part in zip(*shares, strict=True))
            loss, gradients_ = loss_and_gradients(weights, x, y)
            weights = [w - case.known["lr"] / len(y) * g for w, g in zip(weights, gradients_, strict=True)]
            losses.append(loss / len(y))
            after.append({name: Tensor(w, case.known["dtype"]) for name, w in zip(self.NAMES, weights, strict=True)})
        return [{"loss": losses, "after step 1": after[0], "after step 2": after[1]}] * case.world_size

    def facts(self, case: Case, run: Run):
        right = self.expected(case)[0]
        first, second = (np.array([flat(rank.value[f"after step {k}"]) for rank in run.ranks]) for k in (1, 2))
        if np.isnan([first, second]).any():
            return "empty_is_nan"
        if not np.allclose(first, flat(right["after step 1"]), rtol=1e-5, atol=1e-6):
            return self._step(case, run, first)
        if not np.allclose(second, flat(right["after step 2"]), rtol=1e-5, atol=1e-6):
            return "second_step"
        return self._loss(case, run, right["loss"])

    def _step(self, case, run, held) -> Finding | str | None:
        """The mistake in the ranks' first step, read from the sums of sample gradients that it is made of."""
        shares, start = case.known["steps"][0], np.concatenate([w.ravel() for w in case.known["weights"]])
        steps = (start - held) / case.known["lr"]
        sums = [
            np.concatenate([g.ravel() for g in loss_and_gradients(case.known["weights"], *share)[1]])
            for share in shares
        ]
        weights = [weights_in(step, sums) for step in steps]
        if all(row is not None for row in weights):
            return self._name(np.array(weights), np.array([len(y) for _, y in shares]))
        leftover = [weights_in(step, [*sums, np.ones_like(start)]) for step in steps]
        if all(row is not None and row[-1] for row in leftover):
            return "stale_gradients"
        reports, right = [rank.value["after step 1"] for rank in run.ranks], self.expected(case)[0]["after step 1"]
        wrong = [n for n in right if not all(np.allclose(r[n].values, right[n].values, rtol=1e-5) for r in reports)]
        if wrong == [TIED_WEIGHT] and self._is_longer(case, reports[0], right):
            return "tied_twice"
        if len(wrong) < len(right):
            return Finding("some_parameters", f"Not as they should be: {', '.join(wrong)}.")
        return "another_step" if np.allclose(held, held[0], rtol=1e-6) else None

    def _is_longer(self, case, report, right) -> bool:
        """True if the tied parameter's first step has the right direction and more than the right length."""
        start = case.known["weights"][self.NAMES.index(TIED_WEIGHT)]
        taken, wanted = (start - one[TIED_WEIGHT].values for one in (report, right))
        factor = (taken * wanted).sum() / (wanted**2).sum()
        return factor > 1.5 and np.allclose(taken, factor * wanted, rtol=1e-4, atol=1e-7)

    def _name(self, weights, counts) -> Finding | str | None:
        """weights[r][q]: the weight of rank q's sum of sample gradients in rank r's step."""
        p, n, there, own = len(counts), counts.sum(), counts > 0, np.maximum(counts, 1)
        ways = (
            ("mean_of_means", 1 / own / p),
            ("mean_of_means", 1 / own / there.sum()),
            ("sum_of_means", 1 / own),
            ("largest_share", 1 / counts.max() / p),
            ("not_divided", 1),
            ("divided_by_ranks", 1 / p),
            ("divided_twice", 1 / n / p),
            ("wrong_sign", -1 / n),
            ("no_step", 0),
            ("divided_by_own_count", 1 / own[:, None]),
            ("divided_by_own_count", 1 / own[:, None] / p),
        )
        those = np.ix_(there, there)
        names = {
            name for name, way in ways if np.allclose(weights[those], np.broadcast_to(way, (p, p))[those], rtol=1e-4)
        }
        if names:
            return names.pop() if len(names) == 1 else None  # of equal shares one cannot tell
        if not (weights * (1 - np.eye(p))).any():
            return "own_only"
        name, detail = gradients.name_of(weights, there / n) or ("", "")
        name = "wrong_factor" if name == "sum_for_mean" else name
        return Finding(name, detail) if name in self.diagnoses else None

    @staticmethod
    def _loss(case, run, right) -> str | None:
        """The weights are right: what was reported as the loss of the first step?"""
        found = np.array([[number(loss) for loss in rank.value["loss"]] for rank in run.ranks])
        if np.isnan(found).any():
            return "loss_is_nan"
        if np.allclose(found, right, rtol=1e-5):
            return None
        shares = case.known["steps"][0]
        counts = np.array([len(y) for _, y in shares])
        sums = np.array([loss_and_gradients(case.known["weights"], *share)[0] for share in shares])
        there, means = counts > 0, sums / np.maximum(counts, 1)
        ways = (
            ("wrong_loss", np.full(len(counts), right[0])),  # the second one is wrong
            ("mean_of_losses", np.full(len(counts), means.mean())),
            ("mean_of_losses", np.full(len(counts), means.sum() / there.sum())),
            ("loss_not_divided", np.full(len(counts), sums.sum())),
            ("local_loss", means),
            ("local_loss", sums),
        )
        return next((name for name, way in ways if np.allclose(found[there, 0], way[there], rtol=1e-5)), "wrong_loss")


def flat(report: dict) -> np.ndarray:
    return np.concatenate([np.asarray(tensor.values, dtype=np.float64).ravel() for tensor in report.values()])


def loss_and_gradients(weights: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> tuple[float, list[np.ndarray]]:
    """Sum over the samples of the cross-entropy of tanh network W2 tanh(W1 x + b1) + b2, and its gradients by the chain
    rule.

    weights: W1 (h, d), b1 (h,), W2 (c, h), b2 (c,). x: (n, d), n may be 0. y: (n,), labels 0 to c - 1.
    """
    w1, b1, w2, b2 = weights
    hidden = np.tanh(x @ w1.T + b1)
    logits = hidden @ w2.T + b2
    logits = logits - logits.max(axis=1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    rows = np.arange(len(y))
    d_logits = np.exp(log_p)
    d_logits[rows, y] -= 1
    d_hidden = d_logits @ w2 * (1 - hidden**2)
    return float(-log_p[rows, y].sum()), [
        d_hidden.T @ x,
        d_hidden.sum(axis=0),
        d_logits.T @ hidden,
        d_logits.sum(axis=0),
    ]


class AverageAndClip(GradientExercise):
    """Clip the averaged gradient"""

    signature = "average_and_clip(model: nn.Module, max_norm: float) -> float"
    any_type = "the norm may be a tensor of one element, of any shape"
    all_hear = True
    levels = {"norm above the limit": 1, "norm below the limit": 1, "frozen parameters, zero gradients": 1}
    uses = ("average_gradients", "average_gradients_flat")
    harness = harness_of(__file__, "average_and_clip")
    mistakes = [
        *READINGS,
        Mistake("not_clipped", "The gradient is the mean, in its full length.",
                "Multiply by max_norm / norm where norm > max_norm.", lambda c: c.means if c.limit else None),
        Mistake("zero_is_off", "A max_norm of 0 was taken for 'do not clip'.",
                "0 is a limit like any other: compare, `if norm > max_norm`, and do not ask `if max_norm`.",
                lambda c: None if c.limit else c.means),
        Mistake("clipped_before_averaging", "Each rank clipped its own gradient and the clipped ones were averaged: "
                "ranks with long gradients count less.",
                "First the mean, then its norm: that is what the sequential run would clip.",
                lambda c: mean_of_clipped(c.brought, c.own_norms, c.limit)),
        Mistake("not_averaged", "Each rank holds its own gradient, clipped or not: nothing was averaged.",
                "Call `average_gradients(model)` first."),
        Mistake("clipped_each_parameter",
                "Each parameter was clipped by a norm of its own, which turns the gradient into another direction.",
                "One norm for all: the root of the sum of all squares, over all parameters.",
                lambda c: {name: mean * clip_factor(norm_of([mean]), c.limit) for name, mean in c.means.items()}),
        Mistake("own_norm", "Each rank scaled the mean by the norm of its own gradient: the models part.",
                "Take the norm after averaging: all ranks then compute the same number.",
                lambda c: [c.clipped_by(norm) for norm in c.own_norms]),
        Mistake("always_scaled", "A gradient that was short enough was stretched to max_norm.",
                "Clipping only shortens: the factor is min(1, max_norm / norm).",
                lambda c: scaled(c.means, c.limit / c.norm if c.norm else 1)),
        Mistake("norm_over_ranks", "The squares were summed over the ranks: after averaging all ranks hold the same "
                "gradient, so it was counted p times.",
                "The norm of the mean needs no communication.", lambda c: c.clipped_by(c.norms["norm_over_ranks"])),
        Mistake("norm_of_the_sum", "The norm is that of the sum over the ranks.",
                "Divide by p before you take the norm.", lambda c: c.clipped_by(c.norms["norm_of_the_sum"])),
        Mistake("norm_squared", "The root is missing: this is the square of the norm.",
                "norm = sqrt(sum of squares).", lambda c: c.clipped_by(c.norms["norm_squared"])),
        Mistake("norms_added", "The norms of the parameters were added up.",
                "Take the root of the sum of all squares.", lambda c: c.clipped_by(c.norms["norms_added"])),
        Mistake("tied_counted_twice", "A tied parameter, which has two names, is in the norm twice.",
                "Go through `model.parameters()`, which names every parameter once; the modules one by one do not.",
                lambda c: c.clipped_by(c.norms["tied_counted_twice"])),
        Mistake("norm_after", "The gradient is right, but the returned norm is that after clipping.",
                "Return that of the mean.", lambda c: {"norm": c.norms["norm_after"], **c.clipped_by(c.norm)}),
        Mistake("clipped_by_value", "Each element was cut off at max_norm, which changes the gradient's direction.",
                "Scale all elements by one factor.",
                lambda c: {name: np.clip(mean, -c.limit, c.limit) for name, mean in c.means.items()}),
        Mistake("infinite_limit", "A max_norm of infinity, which means 'do not clip', was divided by infinity: that is "
                "not a number.", "Only divide where norm > max_norm: then max_norm is finite.",
                lambda c: scaled(c.means, np.nan) if c.limit == math.inf else None),
        Mistake("zero_divided", "A gradient of zeros has the norm 0, and 0 / 0 is not a number.",
                "Only divide where norm > max_norm.", lambda c: None if c.norm else scaled(c.means, np.nan)),
        Mistake("ZeroDivisionError", "Python stopped at the line above: a gradient of zeros has the norm 0, and "
                "nothing can be divided by that.", "Only divide where norm > max_norm."),
        Mistake("wrong_length", "The direction is right, the length is not.",
                "The clipped gradient is as long as max_norm, no longer and no shorter."),
        Mistake("wrong_norm", "The gradient is right, the returned norm is not.",
                "Return the root of the sum of all squares of the mean, before clipping."),
    ]  # fmt: skip

    def cases(self, rng):
        long, short, odd = self.levels

        def case(level, p, parts, share, says, **options):
            """A gradient whose norm is 1 / share times max_norm."""
            unlimited = gradient_case(rng, level, p, parts, **options)
            limit = round(share * norm_of(self.worked(unlimited).means.values()), 3)
            tolerance = 1e-6 if share < 1 else None  # torch's own clipping adds 1e-6 to the norm
            tolerance = 1e-5 if unlimited.known["dtype"] == "float32" else tolerance
            return limited(unlimited, limit, f"{says}, max_norm {limit:g}", tolerance)

        return [
            case(long, 3, LAYERS, 0.12, "too long", late=(1,)),
            case(long, 4, LAYERS, 0.0, "anything is too long"),
            case(short, 2, LAYERS, 3.0, "short enough"),
            case(odd, 3, TIED, 0.5, "one frozen, one tied"),
            case(odd, 5, branch(0), 0.1, "no gradient of the branch on rank 0", late=(0,)),
            limited(of_zeros(gradient_case(rng, odd, 2, LAYERS)), 1.0, "zeros"),
            limited(of_zeros(gradient_case(rng, odd, 2, LAYERS)), 0.0, "zeros, max_norm 0"),
            case(long, 1, LAYERS, 0.3, "too long, on one rank"),
            case(long, 3, LAYERS, 0.3, "too long, float32", dtype="float32"),
            limited(gradient_case(rng, short, 2, LAYERS), math.inf, "no limit"),
        ]

    def worked(self, case):
        """Besides: `own_norms` of each rank's gradient, the right `norm`, wrong `norms` by the name of the mistake, and
        `clipped_by`: the means clipped as if a number were their norm."""
        c, limit = super().worked(case), case.known.get("max_norm")
        norm = norm_of(c.means.values())
        names = [part.kind.removeprefix("tied to ") for part in case.known["parts"] if part.kind.startswith("tied")]
        own_norms = [norm_of(per_rank[r] for per_rank in c.brought.values()) for r in range(c.p)]
        norms = {
            "norm_after": norm if limit is None else min(norm, limit),
            "norm_of_the_sum": norm * c.p,
            "norm_over_ranks": norm * math.sqrt(c.p),
            "norm_squared": norm**2,
            "norms_added": sum(norm_of([mean]) for mean in c.means.values()),
            "tied_counted_twice": norm_of([*c.means.values(), *(c.means[name] for name in names)]),
        }
        return SimpleNamespace(
            **vars(c),
            limit=limit,
            norm=norm,
            own_norms=own_norms,
            norms=norms,
            clipped_by=lambda norm: scaled(c.means, clip_factor(norm, limit)),
        )

    def expected(self, case):
        c = self.worked(case)
        return self.per_rank(case, {"norm": c.norm, **c.clipped_by(c.norm)})

    def per_rank(self, case, value):
        """The norm may be anything where a mistake does not give one; then the gradient has to be wrong."""
        values = value if isinstance(value, list) else [value] * case.world_size
        c = self.worked(case)
        right = c.clipped_by(c.norm)
        if all("norm" not in one and all(np.allclose(one[name], right[name]) for name in right) for one in values):
            return None
        reports = super().per_rank(case, values)
        return [{"norm": one.get("norm", ANYTHING), **report} for one, report in zip(values, reports, strict=True)]

    def facts(self, case: Case, run: Run):
        c, held, read = self.worked(case), gradients.reported(case, run), super().facts(case, run)
        if held is None or (read and read.diagnosis == "weights_changed"):
            return read
        frozen = any(rank.value["parameters"] == "frozen with a gradient" for rank in run.ranks)
        if any(np.isnan(v).any() for values in held for v in values.values()):
            return "infinite_limit" if c.limit == math.inf else "zero_divided"
        right, norms = c.clipped_by(c.norm), [number(rank.value["norm"]) for rank in run.ranks]
        if all(np.allclose(values[name], right[name], rtol=1e-5) for values in held for name in right):
            if np.allclose(norms, c.norm, rtol=1e-5):
                lost = gradients.late_digits_lost(case, held) if c.norm <= c.limit else None
                return lost or ("frozen_with_gradient" if frozen else None)
            return next((name for name, norm in c.norms.items() if np.allclose(norms, norm, rtol=1e-5)), "wrong_norm")
        if c.norm == 0:
            return None
        factors = self._multiples(held, [c.means] * c.p)
        if factors is None:
            own = [{name: per_rank[r] for name, per_rank in c.brought.items()} for r in range(c.p)]
            return read if self._multiples(held, own) is None else "not_averaged"
        if not np.allclose(factors, factors[0], rtol=1e-5):
            return "own_norm"
        length = factors[0] * c.norm
        detail = f"It is {length:.6g} long; the mean is {c.norm:.6g} long, max_norm is {c.limit:g}."
        return "not_clipped" if np.isclose(factors[0], 1, rtol=1e-5) else Finding("wrong_length", detail)

    @staticmethod
    def _multiples(held, wanted) -> list[float] | None:
        """The multiple of the wanted gradients that each rank holds; None where it is none."""
        vectors = [
            [np.concatenate([v.ravel() for v in d.values()]) for d in pair] for pair in zip(held, wanted, strict=True)
        ]
        factors = [weights_in(mine, [one]) for mine, one in vectors]
        return None if any(factor is None for factor in factors) else [float(factor[0]) for factor in factors]


def limited(case: Case, limit: float, says: str, rtol: float | None = None) -> Case:
    """The same case with a `max_norm` as its second argument."""
    arguments, known = [(spec, limit) for (spec,) in case.arguments], {**case.known, "max_norm": limit}
    return replace(case, arguments=arguments, known=known, says=says, rtol=rtol)


def of_zeros(case: Case) -> Case:
    """The same with gradients of zeros."""
    brought = {name: [0 * g for g in per_rank] for name, per_rank in case.known["brought"].items()}
    specs = [
        [[n, kind, v, g and replace(g, values=0 * g.values)] for n, kind, v, g in spec] for (spec,) in case.arguments
    ]
    return replace(case, arguments=[(spec,) for spec in specs], known={**case.known, "brought": brought})


def norm_of(arrays) -> float:
    """The Euclidean norm of all numbers of several arrays together."""
    return math.sqrt(sum(float(np.sum(np.square(np.asarray(a, dtype=np.float64)))) for a in arrays))


def clip_factor(norm: float, limit: float) -> float:
    return min(1.0, limit / norm) if norm > 0 else 1.0


def mean_of_clipped(brought: dict[str, list[np.ndarray]], norms: list[float], limit: float) -> dict[str, np.ndarray]:
    """The mean of what the ranks brought, each rank's clipped by its own norm."""
    factors = [clip_factor(norm, limit) for norm in norms]
    return {name: sum(map(np.multiply, factors, per_rank)) / len(norms) for name, per_rank in brought.items()}


def scaled(values: dict[str, np.ndarray], factor: float) -> dict[str, np.ndarray]:
    return {name: factor * value for name, value in values.items()}
