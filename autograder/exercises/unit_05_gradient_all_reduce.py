"""Unit 05, gradient all-reduce by hand: equal starts, averaged gradients, exact metrics, and a step that knows about unequal shares."""

from __future__ import annotations

import math

import numpy as np

from autograder.exercise import ANYTHING, Case, Diagnosis, Exercise, Finding, Run, Tensor
from autograder.exercises.readings import contributions, gradients
from autograder.exercises.readings.gradients import BUILD, Part, dictionary, gradient_case, weighted, weights_in

UNIT = "05_gradient_all_reduce"

# A rank that skips a collective, or takes the parameters in another order, hangs the others: said in the words of this unit.
HANGS = {
    "missing_rank": Diagnosis(
        "A collective is complete only when every rank has called it, and here a rank called fewer of them than the others.",
        "No `if rank == 0` and no `continue` may decide over a collective unless it decides alike on all ranks: a rank that has nothing "
        "to add brings zeros.",
    ),
    "mismatched_collective": Diagnosis(
        "The ranks called collectives that do not belong together: another operation, another root, or another tensor.",
        "All ranks go through the same tensors in the same order; where a rank has nothing to add it brings zeros of the same shape.",
    ),
    "mismatched_shape": Diagnosis(
        "The ranks met in one collective with tensors of different sizes.",
        "All ranks go through the same tensors in the same order; where a rank has nothing to add it brings zeros of the same shape.",
    ),
}
NO_GRADIENT = Diagnosis(
    "Python stopped at the line above. If it speaks of None: a parameter that is frozen or was not used has no gradient.",
    "Where `p.grad is None`: leave a frozen parameter alone, and bring zeros for one that is trained.",
)

# What `gradients.read` can find in any average of gradients.
READINGS = {
    **HANGS,
    "AttributeError": NO_GRADIENT,
    "TypeError": NO_GRADIENT,
    "no_communication": Diagnosis(
        "Every rank still holds its own gradients: no collective was called.",
        "`dist.all_reduce` adds a tensor up over the ranks and writes the sum into it.",
    ),
    "detached_copy": Diagnosis(
        "The ranks communicated, but every gradient in the model is as it was before: the mean went into a copy.",
        "Reduce `p.grad` itself, or write the result back: `p.grad.copy_(...)` or `p.grad = ...`; the optimizer reads `p.grad`.",
    ),
    "own_only": Diagnosis("Every rank still holds its own gradients.", "Write the mean into `p.grad` on every rank."),
    "sum_for_mean": Diagnosis(
        "The gradients were summed but not divided by the number of ranks: every step is p times too long.",
        "Divide by `dist.get_world_size()`.",
    ),
    "divided_twice": Diagnosis(
        "The gradients were divided by the number of ranks twice: every step is p times too short.",
        "Divide before the all_reduce or after it (ReduceOp.AVG divides by itself), not both times.",
    ),
    "wrong_factor": Diagnosis(
        "All ranks agree, but on a multiple of the mean.", "The divisor is `dist.get_world_size()`, and nothing else."
    ),
    "wrong_sign": Diagnosis("This is the mean with the wrong sign.", "Average the gradients; the optimizer subtracts them."),
    "divided_on_some_ranks": Diagnosis(
        "The sum was divided on some ranks and not on the others, so the ranks step differently and the models part.",
        "Every rank divides its own copy of the sum.",
    ),
    "only_one_rank": Diagnosis(
        "Only one rank holds the mean, the others step with something else and the models part.",
        "`dist.all_reduce` leaves the sum on every rank, `dist.reduce` on one.",
    ),
    "own_divided": Diagnosis(
        "Each rank divided its own gradients and nothing was added up.", "Sum over the ranks with `dist.all_reduce`, then divide."
    ),
    "copied_from_one_rank": Diagnosis(
        "All ranks hold the gradients of one rank: what the others computed is thrown away.",
        "A broadcast copies, MAX and MIN pick one. To add up: `dist.all_reduce` with ReduceOp.SUM.",
    ),
    "ranks_missing": Diagnosis(
        "The gradients of some ranks are not in the mean.", "All ranks contribute, all with the same weight."
    ),
    "unequal_weights": Diagnosis(
        "All ranks agree, but some ranks' gradients count more than others'.", "Each rank counts 1 / p in the mean."
    ),
    "differs_between_ranks": Diagnosis(
        "The ranks hold different mixtures of the gradients, so the models part at the next step.",
        "After the all_reduce all ranks hold the same numbers; do nothing with them that depends on the rank.",
    ),
    "some_left_out": Diagnosis(
        "Some parameters were averaged and others forgotten: their copies part from step to step.",
        "Go through all of `model.parameters()`.",
    ),
    "differs_between_parameters": Diagnosis(
        "Not every parameter was treated alike.", "One rule for all: the sum over the ranks, divided by the number of ranks."
    ),
    "rounded": Diagnosis(
        "The mean lost its fractions.", "`//` and integer tensors round: divide a floating-point tensor with `/`."
    ),
    "half_precision": Diagnosis(
        "The mean is right to two or three digits only: it went through 16-bit numbers, in which a sum is rounded to their grid.",
        "All-reduce the gradients in the type they have. Where fewer bytes are worth it, say so and measure what it costs.",
    ),
    "lost_digits": Diagnosis(
        "The gradients are float64, and the mean is right to seven digits only: it went through float32 on its way.",
        "All-reduce the gradients in the type they have: `torch.zeros_like(p)`, and buffers made with `dtype=p.dtype`.",
    ),
    "not_the_mean": Diagnosis(
        "All ranks hold the same gradients, but these are not the mean.",
        "The sum over the ranks, divided by the number of ranks.",
    ),
    "wrong_place": Diagnosis(
        "The numbers are those of the mean, but they went to the wrong places of the model.",
        "Cut the vector up in the order in which it was put together, each piece as long as its gradient.",
    ),
    "weights_changed": Diagnosis(
        "The parameters themselves were changed.", "Averaging touches `p.grad`, not `p`: the step is the optimizer's business."
    ),
    "divided_by_contributors": Diagnosis(
        "Where some ranks had no gradient, the sum was divided by the number of ranks that had one.",
        "A rank without a gradient counts as zero and is counted: the divisor is p for every parameter.",
    ),
    "left_none": Diagnosis(
        "A rank that had no gradient of its own was left without one, so it does not take the step that the others take.",
        "The mean belongs into `p.grad` on every rank, also where it was None.",
    ),
    "reduced_twice": Diagnosis(
        "The mean is right, but a tied parameter, which has two names, was sent twice.",
        "`model.parameters()` and `model.named_parameters()` name every parameter once.",
    ),
}


def read_average(case: Case, run: Run) -> Finding | None:
    """`gradients.read`, told apart by whether anybody communicated, and by whether the parameters were touched."""
    finding = gradients.read(case, run)
    if any(isinstance(r.value, dict) and r.value.get("parameters") == "changed" for r in run.ranks):
        return Finding("weights_changed", "After the call the parameters had other values than before.")
    if finding and finding.diagnosis == "own_only":
        called = sorted({name for rank in run.ranks for name in rank.collectives if name != "barrier"})
        sent = any(rank.sends for rank in run.ranks)
        return Finding(
            "detached_copy" if called or sent else "no_communication", f"Called: {', '.join(called)}." if called else ""
        )
    return finding


# What the parameters of a small network are called, and their shapes.
LAYERS = [Part("first.weight", (4, 3)), Part("first.bias", (4,)), Part("last.weight", (2, 4)), Part("last.bias", (2,))]
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
    return [*LAYERS[:2], Part("branch.weight", (3, 5), absent=absent), Part("branch.bias", (7,), absent=absent), *LAYERS[2:]]


def mean_weights(p: int) -> np.ndarray:
    return np.full((p, p), 1 / p)


def wrong_averages(case: Case) -> dict[str, list]:
    """The classic mistakes, for any case with gradients."""
    p, brought = case.world_size, case.known["brought"]
    one, own, weights = np.ones((p, p)), np.eye(p), {"parameters": "kept"}
    part_means = weighted(case, mean_weights(p), **weights)
    wrong = {
        "sum_for_mean": weighted(case, one, **weights),
        "divided_twice": weighted(case, one / p**2, **weights),
        "own_divided": weighted(case, own / p, **weights),
        "only_one_rank": weighted(case, np.vstack([one[:1] / p, own[1:]]), **weights),
        "divided_on_some_ranks": weighted(case, np.vstack([one[:1] / p, one[1:]]), **weights),
        "copied_from_one_rank": weighted(case, np.tile(own[0], (p, 1)), **weights),
    }
    absent = [part for part in case.known["parts"] if 0 < len(part.absent) < p]
    wrong["divided_by_contributors"] = wrong["left_none"] = None
    if absent:
        by_contributors, left_none = {}, []
        for part in case.known["parts"]:
            if part.name in brought:
                by_contributors[part.name] = sum(brought[part.name]) / max(p - len(part.absent), 1)
        for rank, right in enumerate(part_means):
            zeros = {part.name: Tensor(np.zeros(part.shape), case.known["dtype"]) for part in absent if rank in part.absent}
            left_none.append({**right, **zeros})
        wrong["divided_by_contributors"] = [dictionary(case, by_contributors, **weights)] * p
        wrong["left_none"] = left_none
    return wrong


class BroadcastParameters(Exercise):
    """Equal models at the start"""

    unit, function = UNIT, "broadcast_parameters"
    signature = "broadcast_parameters(model: nn.Module) -> None"
    levels = {"the parameters": 1, "frozen parameters and buffers too": 1}
    may_lose = {
        "int64 -> float64": "a counter of batches is far below 2**53: one flat vector in float64 may carry it",
        "integers of both widths": "the counter of a batch normalisation is int64 in torch",
    }
    inputs = "free"
    reference = """
import torch.distributed as dist

def broadcast_parameters(model):
    for tensor in [*model.parameters(), *model.buffers()]:
        dist.broadcast(tensor.data, src=0)
"""
    harness = (
        BUILD
        + """

def harness(f, spec):
    model = build(spec)
    before = list(model.parameters())
    trained = [p.requires_grad for p in before]
    memory = [t.detach() for t in [*before, *model.buffers()]]  # the same memory, held on to so that nobody else gets it
    f(model)
    after = list(model.parameters())
    said = "kept"
    if len(before) != len(after) or not all(p is q for p, q in zip(before, after)):
        said = "replaced"
    elif [p.requires_grad for p in after] != trained:
        said = "requires_grad changed"
    elif [t.data_ptr() for t in [*after, *model.buffers()]] != [t.data_ptr() for t in memory]:
        said = "other memory"
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {**tensors, "parameters": said}
"""
    )
    diagnoses = {
        **HANGS,
        "no_communication": Diagnosis(
            "Every rank still holds its own values: no collective was called.", "`dist.broadcast(tensor, src=0)`, on all ranks."
        ),
        "detached_copy": Diagnosis(
            "The ranks communicated, but every model is as it was before: the values of rank 0 went into a copy.",
            "Broadcast into the parameter's own memory: `p.data`, not a clone; or copy the result back under `torch.no_grad()`.",
        ),
        "wrong_source": Diagnosis("All ranks hold the values of another rank than 0.", "The source is rank 0: `src=0`."),
        "averaged": Diagnosis(
            "The models were averaged: equal on all ranks, but no longer a model that anybody initialised.",
            "Copy rank 0's values: `dist.broadcast`.",
        ),
        "summed": Diagnosis("The models were added up.", "Copy rank 0's values: `dist.broadcast`, not `dist.all_reduce`."),
        "buffers_forgotten": Diagnosis(
            "The parameters are equal, the buffers are not: running means of a batch normalisation, for example.",
            "`model.buffers()` are part of the state too: go through them as through `model.parameters()`.",
        ),
        "passing_buffers_forgotten": Diagnosis(
            "Buffers that are not in the `state_dict` (`persistent=False`: a mask, a table of positions) are not equal. A checkpoint does "
            "not need them, but the forward pass uses them.",
            "Go through `model.buffers()`, which names all of them; `model.state_dict()` does not.",
        ),
        "lost_digits": Diagnosis(
            "The values are those of rank 0 to some digits only: they went through a narrower type on their way.",
            "Broadcast every tensor in its own dtype: a copy is exact, bit by bit.",
        ),
        "requires_grad_changed": Diagnosis(
            "The values are right, but some parameter is trained now that was frozen, or frozen that was trained.",
            "Leave `requires_grad` alone: `p.data`, or `torch.no_grad()`, is all that a broadcast in place needs.",
        ),
        "other_memory": Diagnosis(
            "The values are right, but they lie in new memory: whoever holds on to the old one (a flat bucket of all parameters, a view, a "
            "second name of the same buffer) still sees the old values.",
            "Copy into the memory that is there: `dist.broadcast(t.data, src=0)` or `t.copy_(received)`, not `t.data = received`.",
        ),
        "frozen_forgotten": Diagnosis(
            "Frozen parameters were left as they are. They are not trained, so no step ever makes them equal.",
            "Broadcast all of `model.parameters()`, whatever their requires_grad.",
        ),
        "parameters_forgotten": Diagnosis(
            "The buffers are equal, the parameters are not.", "Go through `model.parameters()` as well."
        ),
        "integers_rounded": Diagnosis(
            "An integer buffer arrived rounded: it travelled as float32, which has 24 bits only.",
            "Broadcast every tensor in its own dtype; one vector of floats for all of them does not do.",
        ),
        "some_left_out": Diagnosis(
            "Some tensors are equal on all ranks and others were forgotten.",
            "Go through all of `model.parameters()` and `model.buffers()`.",
        ),
        "not_on_every_rank": Diagnosis("Some ranks did not get the values of rank 0.", "Every rank calls the broadcast."),
        "still_different": Diagnosis(
            "After the call the ranks still hold different values.",
            "Every rank, rank 0 too, must end up with what rank 0 had: `dist.broadcast(tensor, src=0)` on all ranks.",
        ),
        "another_start": Diagnosis(
            "All ranks hold the same values, but not those that rank 0 had.",
            "Copy rank 0's values to the others; rank 0 keeps its model, which may come from a checkpoint.",
        ),
        "replaced": Diagnosis(
            "The values are right, but the model holds new parameters: an optimizer that was built before still updates the old ones.",
            "Copy into the parameters that are there: `dist.broadcast(p.data, src=0)` or `p.copy_(...)` under `torch.no_grad()`.",
        ),
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

    def cases(self, rng):
        first, second = self.levels
        return [
            self._case(rng, first, 3, self.PLAIN, "float32", late=(0,)),
            self._case(rng, first, 2, self.PLAIN, "float64"),
            self._case(rng, second, 4, self.WITH_BUFFERS, "float32"),
            self._case(rng, second, 5, self.WITH_BUFFERS, "float64", late=(2,)),
        ]

    @staticmethod
    def _case(rng, level, p, parts, dtype, **options):
        held = {part.name: contributions.summands(rng, p, part.shape, dtype)[0] for part in parts}
        held = {name: [full_width(rng, v, dtype) for v in values] for name, values in held.items()}
        kinds = {part.name: "int64" if "num_batches" in part.name else dtype for part in parts}
        for name, kind in kinds.items():
            if kind == "int64":  # neither float32 nor int32 has such numbers: a counter that travels as one arrives rounded
                held[name] = [np.rint(values).astype(np.int64) * 2**33 + 1 for values in held[name]]
        specs = [
            [[part.name, part.kind, Tensor(held[part.name][rank], kinds[part.name]), None] for part in parts] for rank in range(p)
        ]
        known = {"parts": parts, "held": held, "kinds": kinds}
        says = f"{len(parts)} tensors, {dtype}"
        return Case(level, p, [(spec,) for spec in specs], says=says, known=known, **options)

    @staticmethod
    def _model(case, rank, value_of) -> dict:
        """What rank `rank` reports when part by part it holds value_of(part, values per rank, rank)."""
        held, kinds = case.known["held"], case.known["kinds"]
        values = {part.name: value_of(part, held[part.name], rank) for part in case.known["parts"]}
        return {
            **{name: v if v is ANYTHING else Tensor(np.asarray(v), kinds[name]) for name, v in values.items()},
            "parameters": "kept",
        }

    def _everywhere(self, case, value_of):
        return [self._model(case, rank, value_of) for rank in range(case.world_size)]

    def expected(self, case):
        return self._everywhere(case, lambda part, held, rank: held[0])

    def misconceptions(self, case):
        def of_rank_0_if(condition):
            return self._everywhere(case, lambda part, held, rank: held[0] if condition(part) else held[rank])

        def combined(function):  # an integer buffer is rounded in one way or another
            return self._everywhere(
                case, lambda part, held, rank: ANYTHING if "num_batches" in part.name else function(np.array(held))
            )

        kinds = {part.kind for part in case.known["parts"]}
        return {
            "wrong_source": self._everywhere(case, lambda part, held, rank: held[-1]),
            "averaged": combined(lambda held: held.mean(axis=0)),
            "summed": combined(lambda held: held.sum(axis=0)),
            "buffers_forgotten": of_rank_0_if(lambda part: part.kind not in BUFFERS) if "buffer" in kinds else None,
            "passing_buffers_forgotten": of_rank_0_if(lambda part: part.kind != "passing") if "passing" in kinds else None,
            "frozen_forgotten": of_rank_0_if(lambda part: part.kind != "frozen") if "frozen" in kinds else None,
            "parameters_forgotten": of_rank_0_if(lambda part: part.kind in BUFFERS) if "buffer" in kinds else None,
        }

    def facts(self, case: Case, run: Run):
        held = case.known["held"]
        found = [rank.value for rank in run.ranks]
        names = {"replaced": "replaced", "requires_grad changed": "requires_grad_changed", "other memory": "other_memory"}
        said = next((value.get("parameters") for value in found if value.get("parameters") != "kept"), "kept")
        if said in names and self._right(case, found, set(held)):
            return Finding(names[said], "")
        right = {name for name in held if self._right(case, found, {name})}
        own = {name for name in held if all(np.allclose(v[name].values, held[name][r]) for r, v in enumerate(found))}
        if own == set(held):
            called = any(rank.collectives or rank.sends for rank in run.ranks)
            return Finding("detached_copy" if called else "no_communication", "")
        if right == set(held):
            return self._rounded(case, found) or self._narrowed(case, found)
        sources = [
            q
            for q in range(1, case.world_size)
            if all(np.allclose(v[n].values, held[n][q]) for v in found for n in held if n not in own)
        ]
        if sources:
            return Finding("wrong_source", f"They hold the values of rank {sources[0]}.")
        if right | own == set(held):
            kinds = {part.kind for part in case.known["parts"] if part.name in own - right}
            name = {frozenset({"buffer"}): "buffers_forgotten", frozenset({"frozen"}): "frozen_forgotten"}
            name |= {frozenset(BUFFERS): "buffers_forgotten", frozenset({"passing"}): "passing_buffers_forgotten"}
            return Finding(name.get(frozenset(kinds), "some_left_out"), f"Still different: {', '.join(sorted(own - right))}.")
        without = [r for r, v in enumerate(found) if not all(np.allclose(v[n].values, held[n][0]) for n in held)]
        if without and all(np.allclose(found[r][n].values, held[n][r]) for r in without for n in held):
            return Finding("not_on_every_rank", f"Unchanged: {', '.join(str(r) for r in without)}.")
        for name, factor in (("averaged", case.world_size), ("summed", 1)):
            if all(
                np.allclose(v[n].values, sum(held[n]) / factor) for v in found for n in held if held[n][0].ndim and n not in own
            ):
                return name
        if all(np.allclose(v[n].values, found[0][n].values) for v in found for n in held if n not in own):
            return "another_start"
        return "still_different"

    @staticmethod
    def _rounded(case, found) -> Finding | None:
        """An integer that is right within the tolerance of floats, and not equal."""
        for name in (n for n, kind in case.known["kinds"].items() if kind == "int64"):
            wanted = int(case.known["held"][name][0])
            for rank, value in enumerate(found):
                got = int(value[name].values)
                if got != wanted:
                    return Finding("integers_rounded", f"Rank {rank} has {name} = {got}, rank 0 had {wanted}.")
        return None

    @staticmethod
    def _narrowed(case, found) -> Finding | None:
        """A value that is rank 0's within the tolerance of a narrower type, and not the same."""
        for name, kind in case.known["kinds"].items():
            wanted = np.asarray(case.known["held"][name][0]).astype(kind)
            for rank, value in enumerate(found):
                got = np.asarray(value[name].values)
                if kind != "int64" and not np.array_equal(got, wanted):
                    apart = np.abs(got - wanted).max() / np.abs(wanted).max()
                    return Finding("lost_digits", f"Rank {rank}: {name} is off by {apart:.0e} of its value.")
        return None

    @staticmethod
    def _right(case, found, names) -> bool:
        """Whether these are the values of rank 0, up to what 16 bits keep of them."""
        held = case.known["held"]
        return all(
            np.shape(v[n].values) == held[n][0].shape and np.allclose(v[n].values, held[n][0], rtol=1e-2)
            for v in found
            for n in names
        )


BUFFERS = ("buffer", "passing")


def full_width(rng: np.random.Generator, values: np.ndarray, dtype: str) -> np.ndarray:
    """The same numbers to the eye, with as many bits as the type holds: on the way through a narrower one some are lost."""
    if dtype == "float64":
        return values  # `contributions.unit` has seen to it
    return (values * (1 + 2.0**-20 * rng.integers(2**4, 2**8, np.shape(values)))).astype(dtype).astype(np.float64)


AVERAGE_HARNESS = (
    BUILD
    + """

def harness(f, spec):
    model = build(spec)
    before = [p.detach().clone() for p in model.parameters()]
    f(model)
    return {**gradients(model), "parameters": kept(model, before)}
"""
)


class AverageGradients(Exercise):
    """Average the gradients"""

    unit, function = UNIT, "average_gradients"
    signature = "average_gradients(model: nn.Module) -> None"
    levels = {"the mean, on every rank": 1, "frozen and tied parameters": 1, "a branch that some ranks did not use": 1}
    inputs = "free"
    harness = AVERAGE_HARNESS
    reference = """
import torch
import torch.distributed as dist

def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
"""
    diagnoses = READINGS

    def cases(self, rng):
        mean, frozen, absent = self.levels
        return [
            gradient_case(rng, mean, 4, LAYERS, "float32", late=(1,), says="a network of 2 layers, float32"),
            gradient_case(rng, mean, 3, LAYERS, says="a network of 2 layers, float64"),
            gradient_case(rng, mean, 2, LAYERS, says="a network of 2 layers, float64"),
            gradient_case(rng, frozen, 3, TIED, "float32", late=(2,), says="one frozen, one tied, one of a single number"),
            gradient_case(rng, absent, 4, branch(1, 2), says="no gradient of the branch on ranks 1 and 2"),
            gradient_case(rng, absent, 5, branch(0), late=(0,), says="no gradient of the branch on rank 0"),
            gradient_case(rng, absent, 3, branch(0, 1, 2), says="no gradient of the branch on any rank"),
        ]

    def expected(self, case):
        return weighted(case, mean_weights(case.world_size), parameters="kept")

    def misconceptions(self, case):
        return wrong_averages(case)

    def facts(self, case: Case, run: Run):
        return read_average(case, run) or gradients.reduced_twice(case, run)


class AverageGradientsFlat(Exercise):
    """One bucket for all gradients"""

    unit, function = UNIT, "average_gradients_flat"
    signature = "average_gradients_flat(model: nn.Module) -> None"
    levels = {"one call": 1, "any memory layout": 1, "frozen, tied, and unused on some ranks": 1}
    inputs = "free"
    harness = AVERAGE_HARNESS
    reference = """
import torch
import torch.distributed as dist

def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape).clone()
"""
    diagnoses = {
        **READINGS,
        "one_call_per_parameter": Diagnosis(
            "The mean is right, but every gradient was sent in a call of its own.",
            "Copy all gradients into one long vector (`torch.cat`), reduce that, and copy the pieces back.",
        ),
        "more_than_one_call": Diagnosis("The mean is right, but one call is enough.", "One vector, one collective."),
        "no_collective": Diagnosis("The mean is right, but it was built from sends.", "One call of `dist.all_reduce`."),
        "copy_not_written_back": Diagnosis(
            "A gradient whose memory is not contiguous kept its old values: `reshape` gave a copy of it, and the mean went into that.",
            "Write into the gradient itself: `p.grad.copy_(piece.view(p.shape))`.",
        ),
    }

    def cases(self, rng):
        one, layout, frozen = self.levels
        transposed = [LAYERS[0], Part("turned.weight", (3, 5), "transposed"), LAYERS[1], Part("scale", ()), LAYERS[3]]
        both = [*TIED[:4], Part("branch.weight", (3, 3), absent=(1,)), *TIED[4:]]
        return [
            gradient_case(rng, one, 4, LAYERS, "float32", late=(3,), says="a network of 2 layers, float32"),
            gradient_case(rng, one, 3, LAYERS, says="a network of 2 layers, float64"),
            gradient_case(rng, layout, 2, transposed, says="one gradient not contiguous, one a single number"),
            gradient_case(rng, layout, 5, transposed, says="one gradient not contiguous, one a single number"),
            gradient_case(rng, frozen, 3, both, late=(1,), says="one frozen, one tied, no gradient of one on rank 1"),
        ]

    def expected(self, case):
        return weighted(case, mean_weights(case.world_size), parameters="kept")

    def misconceptions(self, case):
        return wrong_averages(case)

    def facts(self, case: Case, run: Run):
        finding = read_average(case, run)
        if finding:
            turned = {part.name for part in case.known["parts"] if part.kind == "transposed"}
            if finding.diagnosis == "some_left_out" and turned and finding.detail.endswith(f": {', '.join(sorted(turned))}."):
                return Finding("copy_not_written_back", finding.detail)
            return finding
        for rank, rank_run in enumerate(run.ranks):
            called = [name for name in rank_run.collectives if name != "barrier"]
            if len(called) > 1:
                name = "one_call_per_parameter" if len(called) >= len(case.known["brought"]) else "more_than_one_call"
                return Finding(name, f"Rank {rank} called {len(called)} collectives for {len(case.known['brought'])} gradients.")
            if not called:
                return "no_collective"
        return gradients.reduced_twice(case, run)


class GlobalMetrics(Exercise):
    """Loss and accuracy over all ranks"""

    unit, function = UNIT, "global_metrics"
    signature = "global_metrics(losses: torch.Tensor, correct: torch.Tensor) -> tuple[float, float]"
    levels = {"equal shares": 1, "unequal shares": 1, "a rank without samples": 1}
    reference = """
import torch
import torch.distributed as dist

def global_metrics(losses, correct):
    sums = torch.tensor([losses.sum(), correct.sum(), len(losses)], dtype=torch.float64)
    dist.all_reduce(sums)
    loss, hits, count = sums.tolist()
    return loss / count, hits / count
"""
    diagnoses = {
        **HANGS,
        "own_only": Diagnosis(
            "Each rank reports its own samples only.", "Sum the losses, the hits and the counts over the ranks before you divide."
        ),
        "mean_of_means": Diagnosis(
            "This is the mean of the ranks' means: a sample on a rank with few samples counts more than one on a rank with many.",
            "Sum over the ranks first: losses, hits and counts. Then divide, once.",
        ),
        "empty_is_nan": Diagnosis(
            "The mean over no sample is not a number (0 / 0), and one NaN in a sum makes the whole sum NaN.",
            "Sum before you divide: an empty rank then adds 0 to the sums and 0 to the count.",
        ),
        "sum_for_mean": Diagnosis(
            "The sums are over all ranks, but were not divided.", "Divide by the number of samples on all ranks."
        ),
        "divided_by_ranks": Diagnosis(
            "The sum over all samples was divided by the number of ranks.", "Divide by the number of samples on all ranks."
        ),
        "divided_by_own_count": Diagnosis(
            "The sum over all ranks was divided by the number of samples on this rank.",
            "The counts have to be summed over the ranks too.",
        ),
        "means_summed": Diagnosis("The means of the ranks were added up.", "Sum losses, hits and counts, then divide."),
        "only_one_rank": Diagnosis(
            "Only rank 0 holds the result.", "`dist.all_reduce` leaves the sum on every rank, `dist.reduce` on one."
        ),
        "rank_0_only": Diagnosis("All ranks report the samples of one rank.", "Sum over the ranks."),
        "divided_by_equal_share": Diagnosis(
            "The sum was divided as if every rank had as many samples as one of them.", "Count: the shares are not equal."
        ),
        "percent": Diagnosis("The accuracy is in percent.", "Return a fraction between 0 and 1."),
        "hits_counted": Diagnosis(
            "This is the number of hits, not their share.", "Divide by the number of samples on all ranks."
        ),
        "swapped": Diagnosis("Loss and accuracy have changed places.", "Return (mean loss, accuracy)."),
        "integers": Diagnosis(
            "The accuracy lost its fraction.", "A sum of booleans is an integer: convert it to floating point before you divide."
        ),
        "any_for_sum": Diagnosis(
            "Booleans were reduced: their 'sum' is whether any of them is True.", "Count first: `correct.sum()`."
        ),
        "own_over_all": Diagnosis(
            "This rank's own sum was divided by the number of samples on all ranks.",
            "The sums have to be added up over the ranks too.",
        ),
        "divided_twice": Diagnosis(
            "The mean over all samples was divided by the number of ranks as well.",
            "Divide once, by the number of samples on all ranks.",
        ),
        "not_the_mean": Diagnosis(
            "All ranks report the same number, but it is not the mean over all samples.",
            "Sum over the ranks, then divide by the count.",
        ),
        "differs_between_ranks": Diagnosis(
            "The ranks report different numbers.", "What is reported has to be computed from sums over all ranks, on every rank."
        ),
        "error_rate": Diagnosis("This is the share of errors.", "The accuracy is the share of hits."),
        "narrow_type": Diagnosis(
            "This is right to some digits only, on all ranks: it was rounded, or the sums were kept in 16 bits.",
            "Add up in float32 or float64 and count in int64; round where you print.",
        ),
        "count_overflows": Diagnosis(
            "The counts were kept in a type of 8 bits, which ends at 255.", "Count in int64, which is what `torch.tensor(3)` is."
        ),
    }

    def cases(self, rng):
        equal, unequal, empty = self.levels
        return [
            self._case(rng, equal, (4, 4, 4), late=(1,)),
            self._case(rng, equal, (5, 5)),
            self._case(rng, equal, (290, 290)),  # more than a count of 8 bits holds
            self._case(rng, unequal, (5, 2, 9)),
            self._case(rng, unequal, (1, 7, 3, 3), late=(0,)),
            self._case(rng, empty, (3, 0, 8, 2)),
            self._case(rng, empty, (0, 1, 0, 5, 2), late=(2,)),
        ]

    @staticmethod
    def _case(rng, level, counts, **options):
        """Ranks of very different luck, so that no two ways of averaging agree."""
        losses = [full_width(rng, rng.integers(2, 30, n) * (r + 1) / 16, "float32") for r, n in enumerate(counts)]
        correct = []
        for r, n in enumerate(counts):
            hits = (n * (r % 3 + 1) + 3) // 4 if n > 1 else n
            correct.append(rng.permutation(np.arange(n) < hits))
        arguments = [(Tensor(x, "float32"), Tensor(c, "bool")) for x, c in zip(losses, correct, strict=True)]
        says = f"{', '.join(map(str, counts[:-1]))} and {counts[-1]} samples"
        known = {"losses": losses, "correct": correct, "counts": counts}
        return Case(level, len(counts), arguments, says=says, known=known, rtol=1e-5, **options)

    @staticmethod
    def _sums(case):
        """Per rank: sums of losses, hits, counts, each of shape (p,)."""
        known = case.known
        return (
            np.array([x.sum() for x in known["losses"]]),
            np.array([c.sum() for c in known["correct"]]),
            np.array(known["counts"]),
        )

    def expected(self, case):
        return [self._ways(case)["right"]] * case.world_size

    def _ways(self, case) -> dict[str, tuple[float, float]]:
        """What a rank reports that calculates in one way or another; the same on every rank."""
        losses, hits, counts = self._sums(case)
        p, n = case.world_size, counts.sum()
        with np.errstate(invalid="ignore"):
            means = np.array([losses / counts, hits / counts])
        zeros = np.nan_to_num(means)
        return {
            "right": (losses.sum() / n, hits.sum() / n),
            "nan": tuple(means.mean(axis=1)),
            "mean_of_means": tuple(zeros.mean(axis=1)),
            "mean_of_means_of_those_present": tuple(zeros.sum(axis=1) / (counts > 0).sum()),
            "means_summed": tuple(zeros.sum(axis=1)),
            "sum_for_mean": (losses.sum(), float(hits.sum())),
            "divided_by_ranks": (losses.sum() / p, hits.sum() / p),
        }

    def misconceptions(self, case):
        losses, hits, counts = self._sums(case)
        p, ways, nan = case.world_size, self._ways(case), float("nan")
        loss, accuracy = ways["right"]
        equal, empty = len(set(counts)) == 1, 0 in counts
        own = [(x / c, h / c) if c else (ANYTHING, ANYTHING) for x, h, c in zip(losses, hits, counts, strict=True)]
        by_own = [(losses.sum() / c, hits.sum() / c) if c else (ANYTHING, ANYTHING) for c in counts]
        return {
            "own_only": own,
            "empty_is_nan": [(nan, nan)] * p if empty else None,
            "mean_of_means": None if equal else [ways["mean_of_means"]] * p,
            "means_summed": [ways["means_summed"]] * p,
            "sum_for_mean": [ways["sum_for_mean"]] * p,
            "divided_by_ranks": [ways["divided_by_ranks"]] * p,
            "divided_by_own_count": None if equal else by_own,
            "only_one_rank": [ways["right"], *own[1:]] if counts[1:].any() else None,
            "percent": [(loss, 100 * accuracy)] * p,
            "hits_counted": [(loss, float(hits.sum()))] * p,
            "swapped": [(accuracy, loss)] * p,
        }

    def facts(self, case: Case, run: Run):
        """Loss and accuracy looked at one by one: a student may have treated them differently."""
        pairs = np.array([self._numbers(value) for value in contributions.returned(run)])
        if np.isnan(pairs).any():
            return Finding("empty_is_nan", f"NaN on rank {np.flatnonzero(np.isnan(pairs).any(axis=1))[0]}.")
        losses, hits, counts = self._sums(case)
        for k, (what, sums) in enumerate((("loss", losses), ("accuracy", hits))):
            name = self._one(case, pairs[:, k], sums, counts)
            if name:
                return Finding(name, f"This concerns the {what}.")
        return None

    @staticmethod
    def _numbers(value) -> tuple[float, float]:
        first, second = value
        return tuple(float(np.asarray(x.values if isinstance(x, Tensor) else x).reshape(())) for x in (first, second))

    @staticmethod
    def _one(case, found, sums, counts) -> str | None:
        p, n, total = case.world_size, counts.sum(), sums.sum()
        present = counts > 0
        means = np.divide(sums, counts, out=np.zeros(p), where=present)

        def like(values, where=None):
            chosen = slice(None) if where is None else where
            return np.allclose(found[chosen], np.broadcast_to(values, (p,))[chosen], rtol=1e-4)

        if like(total / n):
            return None
        ways = {
            "mean_of_means": means.mean(),
            "own_only": means,
            "means_summed": means.sum(),
            "sum_for_mean": total,
            "divided_by_ranks": total / p,
            "percent": 100 * total / n,
            "error_rate": 1 - total / n,
        }
        for name, values in ways.items():
            if like(values) or (name == "own_only" and like(values, present)):
                return name
        if like(means.sum() / present.sum()):
            return "mean_of_means"
        if like(sums):
            return "own_only"
        if like(total / np.where(present, counts, 1), present):
            return "divided_by_own_count"
        if like(total / np.where(present, counts * p, 1), present):
            return "divided_by_equal_share"
        if np.isclose(found[0], total / n, rtol=1e-4):
            return "only_one_rank"
        if any(like(mean) for mean in means):
            return "rank_0_only"
        if like(math.floor(total / n)):
            return "integers"
        if like(np.floor(sums).sum() / n):
            return "integers"
        if np.isin(found, (0, 1)).all():
            return "any_for_sum"
        if like(sums / n) or like(sums / total):
            return "own_over_all"
        if like(total / n / p):
            return "divided_twice"
        if any(like(total / (count * p)) for count in counts[present]):
            return "divided_by_equal_share"
        if not np.allclose(found, found[0], rtol=1e-6):
            return "differs_between_ranks"
        if n > 255 and any(np.isclose(found[0] * (n % 256), left, rtol=1e-4) for left in (total, total % 256)):
            return "count_overflows"
        return "narrow_type" if np.allclose(found, total / n, rtol=1e-2) else "not_the_mean"


class TrainStep(Exercise):
    """One step on unequal shares"""

    unit, function = UNIT, "train_step"
    signature = "train_step(model: nn.Module, x: torch.Tensor, y: torch.Tensor, lr: float) -> float"
    levels = {"equal shares": 1, "unequal shares": 1, "a rank without samples": 1}
    may_lose = {
        "float64": "a quotient of two integer tensors is float32 in torch: shares computed so are accepted",
        "int64": "the only integers are labels of a few classes",
        "integers of both widths": "labels are int64 in torch",
    }
    inputs = "free"
    uses = ("average_gradients", "global_metrics")
    reference = """
import torch
import torch.distributed as dist
import torch.nn.functional as F

def train_step(model, x, y, lr):
    totals = torch.tensor([float(len(x)), 0.0], dtype=torch.float64)
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals[1] = loss.item()
    dist.all_reduce(totals)
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p -= lr / totals[0].item() * p.grad
    return (totals[1] / totals[0]).item()
"""
    harness = """
import torch
from torch import nn


def harness(f, weights, shares, lr):
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    with torch.no_grad():
        for p, w in zip(model.parameters(), weights):
            p.copy_(w)
    for p in model.parameters():
        p.grad = torch.ones_like(p)  # left over from a step before
    losses, after = [], []
    for x, y in shares:
        losses.append(f(model, x, y, lr))
        after.append({n: p.detach().clone() for n, p in model.named_parameters()})
    return {"loss": losses, "after step 1": after[0], "after step 2": after[1]}
"""
    diagnoses = {
        **HANGS,
        "own_only": Diagnosis(
            "Each rank took the step of its own samples: the models part.", "Reduce the gradients over the ranks before the step."
        ),
        "mean_of_means": Diagnosis(
            "Each rank's mean gradient got the same weight 1 / p, however many samples stand behind it.",
            "Weight by counts: sum the gradients of `reduction='sum'` over the ranks and divide by the number of samples on all ranks.",
        ),
        "sum_of_means": Diagnosis(
            "The ranks' mean gradients were added up: the step is about p times too long.",
            "Sum the gradients of all samples, divide by the number of samples on all ranks.",
        ),
        "not_divided": Diagnosis(
            "The gradients of all samples were added up and not divided.", "Divide by the number of samples on all ranks."
        ),
        "divided_by_ranks": Diagnosis(
            "The gradients of all samples were added up and divided by the number of ranks, not of samples.",
            "Divide by the number of samples on all ranks. If a function of yours divides by p already, multiply by p before it.",
        ),
        "divided_twice": Diagnosis(
            "The step is p times too short: the gradients were weighted by the share of the samples and then divided by p as well.",
            "Weighted by count, they only have to be summed: the weights add up to 1 already.",
        ),
        "divided_by_own_count": Diagnosis(
            "The summed gradient was divided by the number of samples on this rank, so every rank takes another step.",
            "Sum the counts over the ranks too.",
        ),
        "largest_share": Diagnosis(
            "The summed gradient was divided as if every rank had as many samples as the largest.",
            "Sum the counts over the ranks.",
        ),
        "empty_is_nan": Diagnosis(
            "A rank without samples brought NaN (the mean over nothing), and the sum spreads it to all models.",
            "With `reduction='sum'` an empty share gives 0 and gradients of zeros.",
        ),
        "stale_gradients": Diagnosis(
            "Gradients of an earlier step are in this one: `backward` adds to what lies in `p.grad`.",
            "Start with `model.zero_grad()`.",
        ),
        "wrong_sign": Diagnosis("The step goes uphill: the loss grows.", "Subtract lr times the gradient."),
        "no_step": Diagnosis(
            "The parameters are as they were: no step was taken, or one along a gradient of zeros.",
            "p -= lr * gradient, under `torch.no_grad()`. Where there is such a line: a loss that went through `.item()` or "
            "`torch.tensor(...)` is cut off from the model, and its backward() leaves no gradient there.",
        ),
        "no_learning_rate": Diagnosis("The step ignores the learning rate.", "Subtract lr times the gradient."),
        "wrong_factor": Diagnosis(
            "The step has the right direction and the wrong length.", "lr times the mean gradient over all samples of all ranks."
        ),
        "only_one_rank": Diagnosis("Only one rank took the right step: the models part.", "All ranks take the same step."),
        "copied_from_one_rank": Diagnosis(
            "All ranks took the step of one rank's samples.", "The samples of all ranks belong into the gradient."
        ),
        "ranks_missing": Diagnosis("The samples of some ranks are not in the gradient.", "All ranks contribute."),
        "unequal_weights": Diagnosis(
            "The ranks agree on a step in which samples count differently, depending on the rank they lie on.",
            "Every sample counts 1 / N, where N is the number of samples on all ranks.",
        ),
        "differs_between_ranks": Diagnosis(
            "The ranks took different steps: the models part.", "Everything that goes into a step must be the same on all ranks."
        ),
        "some_parameters": Diagnosis(
            "Some parameters took the right step and others did not.",
            "Go through all of `model.parameters()`, with one rule for all.",
        ),
        "another_step": Diagnosis(
            "All ranks took the same step, but not the step of plain SGD.",
            "p -= lr * gradient: no momentum, no Adam, no weight decay.",
        ),
        "second_step": Diagnosis(
            "The first step is right, the second is not: something of the first was left over.",
            "`model.zero_grad()` at the start of every step.",
        ),
        "local_loss": Diagnosis(
            "The step is right, but the loss is that of this rank's samples.",
            "Sum losses and counts over the ranks, then divide.",
        ),
        "mean_of_losses": Diagnosis(
            "The step is right, but the loss is the mean of the ranks' means.",
            "Sum losses and counts over the ranks, then divide.",
        ),
        "loss_is_nan": Diagnosis(
            "The step is right, but the loss is not a number: the mean over no samples is 0 / 0.",
            "Sum losses and counts over the ranks, then divide.",
        ),
        "loss_not_divided": Diagnosis(
            "The step is right, but the loss is a sum.", "Divide by the number of samples on all ranks."
        ),
        "loss_divided_by_ranks": Diagnosis(
            "The step is right, but the summed loss was divided by the number of ranks.",
            "Divide by the number of samples on all ranks.",
        ),
        "loss_after_the_step": Diagnosis(
            "The step is right, but the loss was computed after it.", "Return the loss that the gradient belongs to."
        ),
        "wrong_loss": Diagnosis(
            "The step is right, the loss is not.", "The sum of all samples' losses over their number, on every rank."
        ),
    }

    def cases(self, rng):
        equal, unequal, empty = self.levels
        return [
            self._case(rng, equal, [(3, 3), (2, 2)], late=(1,)),
            self._case(rng, equal, [(2, 2, 2), (3, 3, 3)]),
            self._case(rng, unequal, [(5, 1, 2), (2, 4, 3)]),
            self._case(rng, unequal, [(1, 2, 3, 7), (4, 1, 1, 1)], late=(3,)),
            self._case(rng, empty, [(2, 3, 0, 4), (0, 5, 2, 1)]),
            self._case(rng, empty, [(3, 1, 1, 0, 0), (1, 0, 0, 0, 0)], late=(4,)),
        ]

    @staticmethod
    def _case(rng, level, counts, **options):
        """Two minibatches; counts[step][rank] samples each."""
        weights = [rng.normal(size=shape) for shape in ((5, 4), (5,), (3, 5), (3,))]
        steps = [[(rng.normal(size=(n, 4)), rng.integers(0, 3, n)) for n in step] for step in counts]
        lr = float(rng.integers(5, 15)) / 19  # 19: no product of lr with a number of ranks or samples is 1
        p = len(counts[0])
        arguments = []
        for rank in range(p):
            shares = [[Tensor(x, "float64"), Tensor(y, "int64")] for x, y in (step[rank] for step in steps)]
            arguments.append(([Tensor(w, "float64") for w in weights], shares, lr))
        says = f"{', '.join(map(str, counts[0][:-1]))} and {counts[0][-1]} samples, then {sum(counts[1])} more"
        known = {"weights": weights, "steps": steps, "lr": lr}
        return Case(level, p, arguments, says=says, known=known, rtol=1e-5, atol=1e-6, **options)

    NAMES = ("0.weight", "0.bias", "2.weight", "2.bias")

    def _report(self, losses, first, second) -> dict:
        def named(weights):
            return {n: Tensor(w, "float64") for n, w in zip(self.NAMES, weights, strict=True)}

        return {"loss": losses, "after step 1": named(first), "after step 2": named(second)}

    def _train(self, case, gradient, lr=None, loss_of=None) -> list[dict]:
        """Two steps on every rank. gradient(sums, counts, rank, step): the gradient a rank steps with, from every rank's sum of sample
        gradients (a list of 4 arrays per rank) and counts. loss_of(sums, counts, rank): what it reports; None: anything."""
        known, p = case.known, case.world_size
        held = [list(known["weights"]) for _ in range(p)]
        losses, after = [[] for _ in range(p)], []
        for step, shares in enumerate(known["steps"]):
            counts = np.array([len(y) for _, y in shares])
            found = [loss_and_gradients(w, *share) for w, share in zip(held, shares, strict=True)]
            loss_sums, sums = np.array([loss for loss, _ in found]), [g for _, g in found]
            for rank in range(p):
                change = gradient(sums, counts, rank, step)
                rate = known["lr"] if lr is None else lr
                held[rank] = [w - rate * g for w, g in zip(held[rank], change, strict=True)]
                losses[rank].append(ANYTHING if loss_of is None else loss_of(loss_sums, counts, rank))
            after.append([list(w) for w in held])
        return [self._report(losses[r], after[0][r], after[1][r]) for r in range(p)]

    @staticmethod
    def _sum(sums, factors):
        """Sum over the ranks of factor times gradient, array by array."""
        return [sum(f * g for f, g in zip(factors, arrays, strict=True)) for arrays in zip(*sums, strict=True)]

    def _right_step(self, sums, counts, rank, step):
        return self._sum(sums, np.full(len(counts), 1 / counts.sum()))

    def expected(self, case):
        return self._train(case, self._right_step, loss_of=lambda losses, counts, rank: losses.sum() / counts.sum())

    def misconceptions(self, case):
        p = case.world_size
        every = np.array([[len(y) for _, y in step] for step in case.known["steps"]])
        equal, empty = (every == every[:, :1]).all(), (every == 0).any()
        stale = [None] * p

        def with_weights(weights_of):
            return self._train(case, lambda sums, counts, rank, step: self._sum(sums, weights_of(counts, rank)))

        def stale_step(sums, counts, rank, step):
            previous = [np.ones_like(w) for w in case.known["weights"]] if step == 0 else stale[rank]
            stale[rank] = [a + b for a, b in zip(previous, self._right_step(sums, counts, rank, step), strict=True)]
            return stale[rank]

        def own(counts, rank):
            return np.eye(p)[rank] / max(counts[rank], 1)

        def loss(of):
            return self._train(case, self._right_step, loss_of=of)

        def local(losses, counts, rank):
            return losses[rank] / counts[rank] if counts[rank] else ANYTHING

        return {
            "own_only": with_weights(own),
            "mean_of_means": None if equal else with_weights(lambda counts, rank: 1 / np.maximum(counts, 1) / p),
            "sum_of_means": with_weights(lambda counts, rank: 1 / np.maximum(counts, 1)),
            "not_divided": with_weights(lambda counts, rank: np.ones(p)),
            "divided_by_ranks": with_weights(lambda counts, rank: np.full(p, 1 / p)),
            "divided_twice": with_weights(lambda counts, rank: np.full(p, 1 / counts.sum() / p)),
            "wrong_sign": with_weights(lambda counts, rank: np.full(p, -1 / counts.sum())),
            "no_step": with_weights(lambda counts, rank: np.zeros(p)),
            "no_learning_rate": self._train(case, self._right_step, lr=1.0) if case.known["lr"] != 1 else None,
            "stale_gradients": self._train(case, stale_step),
            "local_loss": loss(local),
            "loss_not_divided": loss(lambda losses, counts, rank: losses.sum()),
            "loss_divided_by_ranks": loss(lambda losses, counts, rank: losses.sum() / p),
            "mean_of_losses": None if equal else loss(lambda losses, counts, rank: (losses / np.maximum(counts, 1)).mean()),
            "loss_is_nan": loss(lambda losses, counts, rank: float("nan") if 0 in counts else losses.sum() / counts.sum())
            if empty
            else None,
        }

    def facts(self, case: Case, run: Run):
        known = case.known
        right = self.expected(case)
        held = [self._flat(rank.value["after step 1"]) for rank in run.ranks]
        second = [self._flat(rank.value["after step 2"]) for rank in run.ranks]
        if any(np.isnan(values).any() for values in held + second):
            return "empty_is_nan"
        start = np.concatenate([w.ravel() for w in known["weights"]])
        steps = [(start - values) / known["lr"] for values in held]
        shares = known["steps"][0]
        counts = np.array([len(y) for _, y in shares])
        sums = [np.concatenate([g.ravel() for g in loss_and_gradients(known["weights"], *share)[1]]) for share in shares]
        if all(
            np.allclose(values, self._flat(r["after step 1"]), rtol=1e-5, atol=1e-6)
            for values, r in zip(held, right, strict=True)
        ):
            if all(
                np.allclose(values, self._flat(r["after step 2"]), rtol=1e-5, atol=1e-6)
                for values, r in zip(second, right, strict=True)
            ):
                return self._loss(case, run)
            return "second_step"
        weights = [weights_in(step, sums) for step in steps]
        if any(row is None for row in weights):
            leftover = [weights_in(step, [*sums, np.ones_like(start)]) for step in steps]
            return "stale_gradients" if all(row is not None and row[-1] for row in leftover) else self._parameters(case, run)
        return self._name(np.array(weights), counts)

    def _parameters(self, case, run) -> Finding | str:
        """The first step is no mixture of the ranks' gradients: are some of the parameters right, are the ranks at least equal?"""
        held, right = [rank.value["after step 1"] for rank in run.ranks], self.expected(case)[0]["after step 1"]
        wrong = [n for n in right if not all(np.allclose(h[n].values, right[n].values, rtol=1e-5) for h in held)]
        if len(wrong) < len(right):
            return Finding("some_parameters", f"Not as they should be: {', '.join(wrong)}.")
        equal = all(np.allclose(self._flat(h), self._flat(held[0]), rtol=1e-6) for h in held)
        return "another_step" if equal else "differs_between_ranks"

    @staticmethod
    def _name(weights, counts) -> Finding | str | None:
        """What each rank's first step is made of. weights[r][q]: the weight of rank q's sum of sample gradients in rank r's step."""
        p, n, there = len(counts), counts.sum(), counts > 0
        factors = weights[:, there] * n
        known = {
            "mean_of_means": 1 / (p * np.maximum(counts, 1)),
            "sum_of_means": 1 / np.maximum(counts, 1),
            "largest_share": np.full(p, 1 / (p * counts.max())),
            "not_divided": np.ones(p),
            "divided_by_ranks": np.full(p, 1 / p),
            "divided_twice": np.full(p, 1 / (p * n)),
        }
        for name, row in known.items():
            if np.allclose(weights[:, there], row[there], rtol=1e-4):
                return name
        if np.allclose(weights[:, there], (1 / (np.maximum(counts, 1) * there.sum()))[there], rtol=1e-4):
            return "mean_of_means"
        own_counts = np.repeat(1 / np.maximum(counts, 1)[:, None], p, axis=1)
        for scale in (1, 1 / p):
            if np.allclose(weights[there][:, there], scale * own_counts[there][:, there], rtol=1e-4):
                return "divided_by_own_count"
        if all(not row[np.arange(p) != r].any() for r, row in enumerate(weights)):
            return "own_only"
        return gradients.name_of(weights, np.where(there, 1 / n, 0)) and Finding(
            *_renamed(gradients.name_of(weights, there / n), factors)
        )

    def _loss(self, case, run) -> Finding | str | None:
        """The weights are right: what was reported as the loss of the first step?"""
        shares = case.known["steps"][0]
        counts = np.array([len(y) for _, y in shares])
        sums = np.array([loss_and_gradients(case.known["weights"], *share)[0] for share in shares])
        right = sums.sum() / counts.sum()
        found = np.array([_number(rank.value["loss"][0]) for rank in run.ranks])
        later = np.array([_number(rank.value["loss"][1]) for rank in run.ranks])
        if np.isnan(found).any() or np.isnan(later).any():
            return "loss_is_nan"
        means = sums / np.maximum(counts, 1)
        after = sums_after = None
        weights = [np.asarray(v.values) for v in run.ranks[0].value["after step 1"].values()]
        sums_after = np.array([loss_and_gradients(weights, *share)[0] for share in shares])
        after = sums_after / np.maximum(counts, 1)
        there = counts > 0
        ways = {
            "loss_after_the_step": np.full(len(counts), sums_after.sum() / counts.sum()),
            "mean_of_losses": np.full(len(counts), means.mean()),
            "loss_not_divided": np.full(len(counts), sums.sum()),
            "loss_divided_by_ranks": np.full(len(counts), sums.sum() / len(counts)),
        }
        for name, values in ways.items():
            if np.allclose(found, values, rtol=1e-5) and not np.isclose(values[0], right, rtol=1e-6):
                return name
        for values in (means, sums, after):
            if np.allclose(found[there], values[there], rtol=1e-5) and not np.allclose(found, right, rtol=1e-6):
                return "local_loss"
        if np.allclose(found, means.sum() / there.sum(), rtol=1e-5) and not np.allclose(found, right, rtol=1e-6):
            return "mean_of_losses"
        wrong = not np.allclose(found, right, rtol=1e-6) or not np.allclose(
            later, [r["loss"][1] for r in self.expected(case)], rtol=1e-6
        )
        return "wrong_loss" if wrong else None

    @staticmethod
    def _flat(report: dict) -> np.ndarray:
        return np.concatenate([np.asarray(tensor.values, dtype=np.float64).ravel() for tensor in report.values()])


def _renamed(found: tuple[str, str], factors: np.ndarray) -> tuple[str, str]:
    """The names of `gradients.name_of` in the words of a step."""
    name, detail = found
    renamed = {"sum_for_mean": "wrong_factor", "divided_on_some_ranks": "differs_between_ranks", "own_divided": "own_only"}
    if name == "wrong_factor" and np.allclose(factors, 0):
        return "no_step", ""
    return renamed.get(name, name), detail


def _number(value) -> float:
    return float(np.asarray(value.values if isinstance(value, Tensor) else value).reshape(()))


def loss_and_gradients(weights: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> tuple[float, list[np.ndarray]]:
    """Sum over the samples of the cross-entropy of tanh network W2 tanh(W1 x + b1) + b2, and its gradients by the chain rule.

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
    return float(-log_p[rows, y].sum()), [d_hidden.T @ x, d_hidden.sum(axis=0), d_logits.T @ hidden, d_logits.sum(axis=0)]


class AverageAndClip(Exercise):
    """Clip the averaged gradient"""

    unit, function = UNIT, "average_and_clip"
    signature = "average_and_clip(model: nn.Module, max_norm: float) -> float"
    all_hear = True
    levels = {"a gradient that is too long": 1, "a gradient that is short enough": 1, "frozen parameters, and zero": 1}
    inputs = "free"
    uses = ("average_gradients", "average_gradients_flat")
    harness = (
        BUILD
        + """

def harness(f, spec, max_norm):
    model = build(spec)
    before = [p.detach().clone() for p in model.parameters()]
    norm = f(model, max_norm)
    return {"norm": norm, **gradients(model), "parameters": kept(model, before)}
"""
    )
    diagnoses = {
        **READINGS,
        "not_clipped": Diagnosis(
            "The gradient is the mean, in its full length.", "Multiply by max_norm / norm where norm > max_norm."
        ),
        "clipped_before_averaging": Diagnosis(
            "Each rank clipped its own gradient and the clipped ones were averaged: ranks with long gradients count less.",
            "First the mean, then its norm: that is what the sequential run would clip.",
        ),
        "not_averaged": Diagnosis(
            "Each rank holds its own gradient, clipped or not: nothing was averaged.", "Call `average_gradients(model)` first."
        ),
        "clipped_each_parameter": Diagnosis(
            "Each parameter was clipped by a norm of its own, which turns the gradient into another direction.",
            "One norm for all: the root of the sum of all squares, over all parameters.",
        ),
        "own_norm": Diagnosis(
            "Each rank scaled the mean by the norm of its own gradient: the ranks step differently and the models part.",
            "Take the norm after averaging: all ranks then compute the same number.",
        ),
        "always_scaled": Diagnosis(
            "A gradient that was short enough was stretched to max_norm.",
            "Clipping only shortens: the factor is min(1, max_norm / norm).",
        ),
        "norm_over_ranks": Diagnosis(
            "The squares were summed over the ranks: after averaging all ranks hold the same gradient, so it was counted p times.",
            "The norm of the mean needs no communication.",
        ),
        "norm_of_the_sum": Diagnosis(
            "The norm is that of the sum over the ranks.", "Divide by the number of ranks before you take the norm."
        ),
        "norm_squared": Diagnosis("The root is missing: this is the square of the norm.", "norm = sqrt(sum of squares)."),
        "norms_added": Diagnosis(
            "The norms of the parameters were added up.", "Squares add up, norms do not: the root of the sum of all squares."
        ),
        "norm_after": Diagnosis(
            "The gradient is right, but the returned norm is that after clipping.",
            "Return the norm of the mean before it was clipped.",
        ),
        "own_norm_returned": Diagnosis(
            "The gradient is right, but the returned norm is that of this rank's own gradient.", "Return the norm of the mean."
        ),
        "clipped_by_value": Diagnosis(
            "Each element was cut off at max_norm, which turns the gradient into another direction.",
            "Scale all elements by one factor.",
        ),
        "zero_divided": Diagnosis(
            "A gradient of zeros has the norm 0, and 0 / 0 is not a number.", "Only divide where norm > max_norm."
        ),
        "wrong_length": Diagnosis(
            "The direction is right, the length is not.", "The clipped gradient is as long as max_norm, no longer and no shorter."
        ),
        "wrong_norm": Diagnosis(
            "The gradient is right, the returned norm is not.",
            "Return the root of the sum of all squares of the mean, before clipping.",
        ),
    }

    def cases(self, rng):
        long, short, odd = self.levels
        return [
            self._case(rng, long, 3, LAYERS, 0.12, late=(1,), says="too long"),
            self._case(rng, long, 4, LAYERS, 0.05, says="much too long"),
            self._case(rng, short, 2, LAYERS, 3.0, says="short enough"),
            self._case(rng, odd, 3, TIED, 0.5, says="one frozen, one tied"),
            self._case(rng, odd, 5, branch(0), 0.1, late=(0,), says="no gradient of the branch on rank 0"),
            self._zero(gradient_case(rng, odd, 2, LAYERS, more=(1.0,), says="zeros", known={"max_norm": 1.0})),
        ]

    @staticmethod
    def _case(rng, level, p, parts, share, **options):
        """A gradient whose norm is 1 / share times max_norm."""
        case = gradient_case(rng, level, p, parts, **options)
        limit = round(share * norm_of([sum(per_rank) / p for per_rank in case.known["brought"].values()]), 3)
        return Case(
            case.level,
            p,
            [(*arguments, limit) for arguments in case.arguments],
            says=f"{case.says}, max_norm {limit:g}",
            known={**case.known, "max_norm": limit},
            late=case.late,
            rtol=1e-6 if share < 1 else None,  # torch's own clipping adds 1e-6 to the norm
        )

    @staticmethod
    def _zero(case):
        """The same with gradients of zeros."""
        brought = {name: [0 * g for g in per_rank] for name, per_rank in case.known["brought"].items()}
        arguments = []
        for spec, limit in case.arguments:
            zeros = [[n, kind, v, None if g is None else Tensor(0 * g.values, g.dtype)] for n, kind, v, g in spec]
            arguments.append((zeros, limit))
        return Case(case.level, case.world_size, arguments, says=case.says, known={**case.known, "brought": brought})

    @staticmethod
    def _means(case) -> dict[str, np.ndarray]:
        return {name: sum(per_rank) / case.world_size for name, per_rank in case.known["brought"].items()}

    def _report(self, case, norm, values) -> dict:
        return {"norm": norm, **dictionary(case, values, parameters="kept")}

    def _everywhere(self, case, norm, values):
        return [self._report(case, norm, values)] * case.world_size

    def expected(self, case):
        means = self._means(case)
        norm = norm_of(means.values())
        return self._everywhere(case, norm, scaled(means, clip_factor(norm, case.known["max_norm"])))

    def misconceptions(self, case):
        p, brought, limit, means = case.world_size, case.known["brought"], case.known["max_norm"], self._means(case)
        norm = norm_of(means.values())
        names = (
            "not_clipped clipped_before_averaging clipped_each_parameter own_norm always_scaled norm_over_ranks norm_of_the_sum "
            "norm_squared norms_added norm_after sum_for_mean clipped_by_value zero_divided"
        ).split()
        if norm == 0:
            nans = {name: np.full(np.shape(mean), np.nan) for name, mean in means.items()}
            return {name: None for name in names} | {"zero_divided": self._everywhere(case, ANYTHING, nans)}
        own = [{name: per_rank[r] for name, per_rank in brought.items()} for r in range(p)]
        own_norms = [norm_of(values.values()) for values in own]
        clipped = [scaled(values, clip_factor(n, limit)) for values, n in zip(own, own_norms, strict=True)]
        long = norm > limit
        right = scaled(means, clip_factor(norm, limit))

        def everywhere(values, norm=ANYTHING):
            return self._everywhere(case, norm, values)

        of_means_of_clipped = {name: sum(values[name] for values in clipped) / p for name in means}
        each = {name: mean * clip_factor(norm_of([mean]), limit) for name, mean in means.items()}
        summed, longest = norm * p, max(float(np.abs(m).max()) for m in means.values())
        return {
            "not_clipped": everywhere(means) if long else None,
            "clipped_before_averaging": everywhere(of_means_of_clipped) if max(own_norms) > limit else None,
            "clipped_each_parameter": everywhere(each) if long else None,
            "own_norm": [self._report(case, ANYTHING, scaled(means, clip_factor(n, limit))) for n in own_norms] if long else None,
            "always_scaled": None if long else everywhere(scaled(means, limit / norm)),
            "norm_over_ranks": everywhere(scaled(means, limit / norm / math.sqrt(p))) if long else None,
            "norm_of_the_sum": everywhere(scaled(means, limit / norm / p)) if long else None,
            "norm_squared": everywhere(scaled(means, limit / norm**2)) if long else None,
            "norms_added": everywhere(scaled(means, limit / sum(norm_of([m]) for m in means.values()))) if long else None,
            "norm_after": everywhere(right, min(norm, limit)) if long else None,
            "sum_for_mean": None
            if long
            else everywhere(scaled(means, p * clip_factor(summed, limit)))
            if summed < limit
            else None,
            "clipped_by_value": everywhere({name: np.clip(m, -limit, limit) for name, m in means.items()})
            if longest > limit
            else None,
            "zero_divided": None,
        }

    def facts(self, case: Case, run: Run):
        if any(rank.value["parameters"] == "changed" for rank in run.ranks):
            return Finding("weights_changed", "After the call the parameters had other values than before.")
        means, limit, p = self._means(case), case.known["max_norm"], case.world_size
        norm = norm_of(means.values())
        held = gradients.reported(case, run)
        if held is None:
            return None
        if any(np.isnan(v).any() for values in held for v in values.values()):
            return "zero_divided"
        norms = [_number(rank.value["norm"]) for rank in run.ranks]
        right = scaled(means, clip_factor(norm, limit))
        if all(np.allclose(values[name], right[name], rtol=1e-5) for values in held for name in means):
            if np.allclose(norms, norm, rtol=1e-5):
                return gradients.late_digits_lost(case, held) if norm <= limit else None
            own = [norm_of([per_rank[r] for per_rank in case.known["brought"].values()]) for r in range(p)]
            ways = {
                "norm_after": [min(norm, limit)] * p,
                "own_norm_returned": own,
                "norm_of_the_sum": [norm * p] * p,
                "norm_over_ranks": [norm * math.sqrt(p)] * p,
                "norm_squared": [norm**2] * p,
                "norms_added": [sum(norm_of([m]) for m in means.values())] * p,
            }
            return next((name for name, values in ways.items() if np.allclose(norms, values, rtol=1e-5)), "wrong_norm")
        if norm == 0:
            return None
        flat_mean = np.concatenate([m.ravel() for m in means.values()])
        factors = [weights_in(np.concatenate([v.ravel() for v in values.values()]), [flat_mean]) for values in held]
        if all(factor is not None for factor in factors):
            if np.allclose(factors, 1, rtol=1e-5):
                return "not_clipped"
            if np.allclose(factors, factors[0], rtol=1e-5):
                length = float(factors[0][0]) * norm
                return Finding("wrong_length", f"It is {length:.6g} long; the mean is {norm:.6g} long, max_norm is {limit:g}.")
            return "own_norm"
        return Finding("not_averaged") if self._not_averaged(case, held) else read_average(case, run)

    @staticmethod
    def _not_averaged(case, held) -> bool:
        """Whether each rank holds its own gradient, whatever its length."""
        for rank, values in enumerate(held):
            own = np.concatenate([per_rank[rank].ravel() for per_rank in case.known["brought"].values()])
            if weights_in(np.concatenate([v.ravel() for v in values.values()]), [own]) is None:
                return False
        return True


def norm_of(arrays) -> float:
    """The Euclidean norm of all numbers of several arrays together."""
    return math.sqrt(sum(float(np.sum(np.square(np.asarray(a, dtype=np.float64)))) for a in arrays))


def clip_factor(norm: float, limit: float) -> float:
    return min(1.0, limit / norm) if norm > 0 else 1.0


def scaled(values: dict[str, np.ndarray], factor: float) -> dict[str, np.ndarray]:
    return {name: factor * value for name, value in values.items()}
