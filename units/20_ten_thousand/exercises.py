"""Unit 20, ten thousand: ranks as a mesh, bytes on its links, memory of a rank, time of a step, the search for the best
mesh, utilisation, gradients over three axes, checkpoints at that size, and what a budget buys.

What is right is what the simulator says (`labkit.scale`), which a test holds against real ranks on the relay.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from autograder.compare import difference
from autograder.exercise import Finding, Mistake, Record
from autograder.exercises.kinds import PlainExercise, RefusingExercise, as_floats
from autograder.exercises.readings.budgets import (
    BESIROGLU,
    DAY,
    HOFFMANN,
    allotted,
    costs,
    is_clear,
    optimum,
    planned,
)
from autograder.exercises.readings.mesh_gradients import MeshGradientsExercise, as_norms, as_tensors, averaged, norms
from autograder.exercises.readings.mesh_search import TO_THE_BYTE, SearchExercise, mesh_seconds, that_fit
from autograder.exercises.readings.meshes import (
    HELD,
    best_of,
    counted,
    held,
    lost,
    rank_memory,
    seconds_of,
    shares,
    step_bytes,
    timed_step,
)
from autograder.exercises.source import harness_of, reference_of

TAKES_ANYTHING = Mistake("takes_anything", "This cannot be done, but the function returned a result.",
                         "Raise a ValueError before anything else.")  # fmt: skip
REFUSES = Mistake("refuses_what_can_be", "This can be done, and the function raised a ValueError.", "",
                  lambda c: c.possible and "ValueError")  # fmt: skip

# -- a mesh ------------------------------------------------------------------------------------------------------------


def coordinates(rank: int, shape) -> list[int]:
    return [int(place) for place in np.unravel_index(rank, shape)]


class MeshCoordinates(RefusingExercise):
    """Where a rank stands"""

    signature = "mesh_coordinates(rank: int, shape: tuple[int, ...]) -> tuple[int, ...]"
    withheld = ("labkit.scale.mesh.Mesh.coordinates",)
    levels = {"three axes": 1, "any axes": 1, "illegal ranks": 1}
    given = ("rank", "shape")  # one call, not one for each rank
    mistakes = [
        TAKES_ANYTHING,
        REFUSES.but(how="Raise one only where the mesh has no such rank. The number of ranks may need more than 32 "
                    "bits: `math.prod(shape)`."),
        Mistake("first_axis_innermost", "Here the first axis changes from rank to rank. In a `DeviceMesh` the last "
                "does: neighbouring ranks share all other coordinates.",
                "Take the last axis first: rank % shape[-1], and go on with rank // shape[-1].",
                lambda c: c.possible and [int(x) for x in np.unravel_index(c.rank, c.shape, order="F")]),
        Mistake("backwards", "These are the right numbers, the last axis first.",
                "One coordinate for each axis, in the order of the shape.",
                lambda c: c.possible and coordinates(c.rank, c.shape)[::-1]),
        Mistake("strides_of_the_wrong_axis", "Each axis was divided by its own length, not by the product of the "
                "lengths after it.",
                "coordinate = rank // (product of the lengths after it) % length.",
                lambda c: c.possible and [c.rank // n % n for n in c.shape]),
        Mistake("out_of_memory", "The whole mesh is built to look up one rank: no memory holds a large one.",
                "Divide the rank by one length after the other; `divmod` gives quotient and remainder."),
    ]  # fmt: skip

    def draw(self, rng):
        for shape in ((4, 3, 2), (2, 4, 8)):
            size = math.prod(shape)
            for rank in (0, size - 1, int(rng.integers(size // 3, size - 1))):
                yield "three axes", {"rank": rank, "shape": shape}
        yield "any axes", {"rank": int(rng.integers(16384)), "shape": (128, 16, 1, 8)}
        yield "any axes", {"rank": int(rng.integers(5)), "shape": (5,)}
        yield "any axes", {"rank": int(rng.integers(25, 48)), "shape": (2, 3, 2, 2, 2)}
        yield "any axes", {"rank": 0, "shape": ()}
        for rank in (24, -1, -7):
            yield "illegal ranks", {"rank": rank, "shape": (4, 3, 2)}
        yield "illegal ranks", {"rank": 1, "shape": ()}
        vast = (1 << 30, 1 << 20, 2, 3)  # no memory holds all ranks, nor all places on the first axis
        yield "any axes", {"rank": 1_234_567_890, "shape": vast}
        yield "illegal ranks", {"rank": -1, "shape": vast}

    def draw_further(self, rng):
        three, any_, wrong = self.levels
        for level, axes in ((three, 3), (three, 3), (any_, 2), (any_, 4), (any_, 5), (wrong, 3)):
            shape = tuple(int(length) for length in rng.integers(2, 12, axes))
            size = math.prod(shape)
            rank = int(rng.integers(size))
            yield level, {"rank": rank + size if level == wrong else rank, "shape": shape}

    def impossible(self, rank, shape):
        return not 0 <= rank < math.prod(shape)

    reference = reference_of(__file__, "right_divmod")

    def right(self, rank, shape):
        return coordinates(rank, shape)


def groups(shape, axis: int, order: str = "C") -> list[list[int]]:
    ranks = np.arange(math.prod(shape)).reshape(shape, order=order)
    return sorted(np.moveaxis(ranks, axis, -1).reshape(-1, shape[axis]).tolist())


class AxisGroups(PlainExercise):
    """Who talks to whom"""

    signature = "axis_groups(shape: tuple[int, ...], axis: int) -> list[list[int]]"
    any_type = "the rows of an array are groups, too"
    levels = {"the last axis": 1, "any axis": 1}
    uses = ("mesh_coordinates",)
    mistakes = [
        Mistake("neighbours", "These groups are ranks with neighbouring numbers. That is right only on the last axis.",
                "A group: all ranks that have the same coordinates except on this axis.",
                lambda c: np.arange(math.prod(c.shape)).reshape(-1, c.shape[c.axis]).tolist()),
        Mistake("same_coordinate", "The ranks of a group have the same coordinate on this axis. They should differ "
                "in it, and in nothing else.",
                "A group: all ranks that have the same coordinates except on this axis.",
                lambda c: np.moveaxis(np.arange(math.prod(c.shape)).reshape(c.shape), c.axis, 0)
                .reshape(c.shape[c.axis], -1).tolist()),
        Mistake("first_axis_innermost", "These are groups of a mesh whose first axis changes from rank to rank.",
                "In a `DeviceMesh` the last axis is the innermost.", lambda c: groups(c.shape, c.axis, "F")),
        Mistake("whole_strides", "The ranks of a group are as far from each other as on the first axis, whichever axis "
                "it is.",
                "The distance on an axis is the product of the lengths after it.",
                lambda c: np.arange(math.prod(c.shape)).reshape(c.shape[c.axis], -1).T.tolist()),
        Mistake("another_order", "These are the groups, in another order.",
                "Sort the ranks of a group, and the groups by their first rank."),
    ]  # fmt: skip

    def draw(self, rng):
        yield "the last axis", {"shape": (2, 2, 4), "axis": 2}
        yield "the last axis", {"shape": (3, 2, int(rng.integers(3, 6))), "axis": 2}
        shapes = ((2, 3, 4), 0), ((2, 3, 4), 1), ((3, 2, 2, 2), 2), ((2, 4, 1), 2), ((5,), 0)
        for shape, axis in (*shapes, ((12, 2, 12), 1)):  # 1 and 11 are not 11 and 1, whatever joins the digits
            yield "any axis", {"shape": shape, "axis": axis}

    def draw_further(self, rng):
        for level, axes in (
            ("the last axis", 3),
            ("the last axis", 3),
            ("any axis", 2),
            ("any axis", 3),
            ("any axis", 4),
        ):
            shape = tuple(int(length) for length in rng.integers(2, 6, axes))
            yield level, {"shape": shape, "axis": axes - 1 if level != "any axis" else int(rng.integers(axes - 1))}

    reference = reference_of(__file__, "right_strides")

    def right(self, shape, axis):
        return groups(shape, axis)

    def read(self, answer, shape, axis):
        try:
            found = sorted(sorted(group) for group in answer)
        except TypeError:
            return None
        return "another_order" if found == groups(shape, axis) else None


# -- bytes -------------------------------------------------------------------------------------------------------------


class StepBytes(PlainExercise):
    """Bytes of a step, by axis and link"""

    signature = "step_bytes(shape: tuple[int, int, int], work: dict, per_node: int) -> dict[str, dict[str, float]]"
    levels = {"on one node": 2, "across nodes": 2}
    uses = ("axis_groups",)
    mistakes = [
        Mistake(name, why, how, lambda c, slip=slip: counted(c.shape, c.work, c.per_node, **slip))
        for name, why, how, slip in (
            ("forgets_the_backward_pass", "Only the all-reduces of the forward pass are counted on the tensor axis.",
             "Two in the forward pass of a layer, and two in its backward pass.", {"reduces": 2}),
            ("only_there", "The activations are sent forward, but no gradients come back through the pipeline.",
             "A message of hop_bytes for every micro-batch, in each direction.", {"ways": 1}),
            ("forgets_the_layers", "The tensor axis counts the all-reduces of one layer only.", "Every stage has "
             "`layers` of them.", {"layers": 1}),
            ("round_the_ring", "The last stage sends to the first here. With one chunk on a rank it sends to nobody.",
             "p - 1 links for p stages.", {"wraps": True}),
            ("gradients_go_round", "The gradients go from the last stage to the first, around a ring. They should go "
             "back the way that the activations came.",
             "p - 1 links for p stages, and on each a message of hop_bytes for every micro-batch, in each direction.",
             {"wraps": True, "ways": 1}),
            ("whole_contributions", "Every rank sends all its bytes twice. On the ring it sends (n - 1) / n of them "
             "twice.", "2 (n - 1) / n times its bytes, for each rank of a group of n.", {"lonely": False}),
            ("half_an_all_reduce", "This is what a reduce-scatter sends. An all-reduce goes round twice.",
             "2 (n - 1) / n times its bytes, for each rank of a group of n.", {"share": 1}),
            ("of_one_rank", "These are the mean bytes of one rank.", "Count those of all ranks together.",
             {"of_one": True}),
            ("dp_innermost", "These are the links of a mesh whose data axis is innermost: neighbouring ranks differ in "
             "`data`, and the tensor groups are spread over the nodes.",
             "The shape is (data, pipeline, tensor), and the last axis changes from rank to rank.",
             {"order": (2, 1, 0)}),
            ("whole_bytes", "A fraction of a byte was cut off.", "Divide with `/`, not with `//`.", {"whole": True}),
        )
    ]  # fmt: skip
    mistakes += [
        Mistake("layers_of_the_model", "The layers are divided by the number of stages, as if they were those of the "
                "whole model.", "`layers` are those of each stage.",
                lambda c: counted(c.shape, c.work, c.per_node, layers=c.work["layers"] / c.shape[1])),
        Mistake("pair_once", "Of two ranks only one sends here. In a group of two each sends to the other.",
                "n edges for n ranks: from group[k] to group[(k + 1) % n].",
                lambda c: counted(c.shape, c.work, c.per_node, pairs=False)),
        Mistake("gradients_in_every_micro_batch", "The gradients are reduced after every micro-batch. They are added "
                "up on the rank and reduced once.", "Reduce them once in a step.",
                lambda c: counted(c.shape, c.work, c.per_node, often=c.work["micro_batches"])),
        Mistake("class_of_the_group", "Where a group is on several nodes, all its bytes are between nodes here. "
                "But some edges of its ring lie inside a node.",
                "Check for every edge of the ring whether its ranks are on one node: a // per_node == b // per_node.",
                lambda c: counted(c.shape, c.work, c.per_node, group_by=slice(None))),
        Mistake("tensor_is_inside", "All tensor bytes are inside nodes here, whatever `per_node` is. The groups may be "
                "larger than a node, or lie across two.",
                "Check every edge on this axis, too: a // per_node == b // per_node.",
                lambda c: counted(c.shape, c.work, c.per_node, inside="tensor")),
        Mistake("class_of_the_first_edge", "Where the first two ranks of a group are on one node, all its bytes are "
                "inside a node here, otherwise between nodes.",
                "Check every edge of the ring, including the one from the last rank to the first.",
                lambda c: counted(c.shape, c.work, c.per_node, group_by=slice(2))),
        Mistake("ring_not_closed", "The last rank of a group sends nothing on its ring here. In an all-reduce it sends "
                "to the first.",
                "n edges for n ranks: from group[k] to group[(k + 1) % n].",
                lambda c: counted(c.shape, c.work, c.per_node, closed=False)),
        Mistake("open_chain", "The bytes of an all-reduce are right, but on n - 1 edges, an open chain. On the ring "
                "the last rank of a group sends to the first, as much as the others.",
                "n edges for n ranks, each of 2 (n - 1) / n of the bytes: from group[k] to group[(k + 1) % n].",
                lambda c: counted(c.shape, c.work, c.per_node, closed=False, lonely=False)),
        Mistake("class_of_the_ring", "Where a ring is on several nodes, all its bytes are between nodes here. But some "
                "of its edges lie inside a node.",
                "Check for every edge of the ring whether its ranks are on one node: a // per_node == b // per_node.",
                lambda c: counted(c.shape, c.work, c.per_node, group_by=slice(None), chain=True)),
    ]  # fmt: skip

    def draw(self, rng):
        for level, shape, per_node in (
            ("on one node", (1, 1, 4), 8),
            ("on one node", (2, 3, 2), 16),
            ("across nodes", (2, 2, 2), 1),
            ("across nodes", (2, 2, 4), 4),
            ("across nodes", (4, 3, 2), 8),
            ("across nodes", (2, 2, 4), 2),
            ("across nodes", (4, 1, 2), 4),
            ("across nodes", (3, 2, 3), 4),
            ("across nodes", (3, 2, 4), 6),
        ):
            work = {"micro_batches": int(rng.integers(3, 7)), "layers": int(rng.integers(4, 7))}
            work |= {name: 48 * int(rng.integers(50, 90)) for name in ("tensor_bytes", "hop_bytes", "gradient_bytes")}
            if shape[2] == 3:  # nothing comes out even
                work |= {"tensor_bytes": 7, "gradient_bytes": 11}
            yield level, {"shape": shape, "work": work, "per_node": per_node}

    def right(self, shape, work, per_node):
        return step_bytes(shape, work, per_node)


# -- memory ------------------------------------------------------------------------------------------------------------


class RankMemory(PlainExercise):
    """What a rank holds"""

    signature = (
        "rank_memory(model: dict, shape: tuple[int, int, int], stage: int, micro_batches: int, zero: int = 1) "
        "-> dict[str, float]"
    )
    levels = {"one stage": 1, "stages": 2, "ZeRO": 1}
    harness = harness_of(__file__, "rank_memory")
    mistakes = [
        Mistake(name, why, how, lambda c, slip=slip: held(c, **slip(c)))
        for name, why, how, slip in (
            ("optimizer_on_every_replica", "Every replica keeps the whole state of the optimizer here.",
             "From ZeRO 1 on 12 bytes for a parameter are divided by `data`; from 2 on the 4 of the gradient, from 3 "
             "on the 2 of the weight.", lambda c: {"whole": True}),
            ("one_stage_early", "One part too many is divided over the replicas.",
             "ZeRO 1: the optimizer's state. 2: also the gradients. 3: also the weights.", lambda c: {"shifted": 1}),
            ("this_part_alone", "Each stage of ZeRO divides one part here. It divides those of the lower stages, too.",
             "ZeRO 2 divides the optimizer's state and the gradients, 3 also the weights: zero >= 1, zero >= 2, "
             "zero >= 3.", lambda c: {"alone_shared": True}),
            ("sharded_over_all_ranks", "What replicas share is divided by all ranks here. Ranks of other stages, and "
             "other tensor ranks, hold other parameters.", "Divide by `data` alone.", lambda c: {"over_all": True}),
            ("embedding_on_every_stage", "Every stage has an embedding here.",
             "The first stage looks tokens up, the last one has the output: those two.",
             lambda c: {"everywhere": True}),
            ("places_of_the_copy", "The last stage also has a copy of the positions' rows. It needs only the V rows of "
             "the tokens, for the output.", "V h on the last stage.", lambda c: {"places": True}),
            ("copy_beside_the_embedding", "The only stage has the embedding twice.", "The last stage has a copy "
             "unless it is also the first.", lambda c: {"alone": True}),
            ("forgets_the_tied_copy", "The last stage has no embedding here. It uses the first stage's matrix, but "
             "on another rank, so it needs a copy for the output.",
             "With more than one stage, the last one also has V h parameters.", lambda c: {"untied": True}),
            ("keeps_all_micro_batches", "All micro-batches are alive here: that is GPipe.",
             "Under 1F1B min(m, p - stage) of them are.", lambda c: {"in_flight": c.micro_batches}),
            ("p_alive_on_every_stage", "p micro-batches are alive on every stage here. Only the first stage waits that "
             "long for its first gradient.", "min(m, p - stage).", lambda c: {"in_flight": c.shape[1]}),
            ("more_than_there_are", "More micro-batches are alive here than exist.", "min(m, p - stage).",
             lambda c: {"in_flight": c.shape[1] - c.stage}),
            ("one_micro_batch", "One micro-batch is alive at a time here.",
             "While a micro-batch is on its way to the last stage and back, others begin: min(m, p - stage).",
             lambda c: {"in_flight": 1}),
            ("activations_on_every_tensor_rank", "Every tensor rank keeps whole activations here.",
             "Divide them by `tensor`.", lambda c: {"split": False}),
            ("one_less_alive", "One micro-batch too few is alive here: on the last stage it would be none. A stage "
             "also holds the one that it works on.", "min(m, p - stage).",
             lambda c: {"in_flight": min(c.micro_batches, c.shape[1] - 1 - c.stage)}),
            ("one_more_alive", "One micro-batch too many is alive here: under 1F1B the last stage holds just one.",
             "min(m, p - stage).", lambda c: {"in_flight": min(c.micro_batches, c.shape[1] - c.stage + 1)}),
            ("alive_the_other_way_round", "The first stage keeps one micro-batch here, and the last one most. The "
             "first one waits longest for its gradients.", "min(m, p - stage).",
             lambda c: {"in_flight": min(c.micro_batches, c.stage + 1)}),
            ("activations_of_all_layers", "The activations are those of all layers of the model. A stage keeps those "
             "of its own.", "layers // pipeline of them.",
             lambda c: {"in_flight": min(c.micro_batches, c.shape[1] - c.stage) * c.shape[1]}),
            ("forgets_the_small_parameters", "A layer has 12 h^2 parameters here: its biases and layer norms are "
             "missing.", "12 h^2 + 13 h.", lambda c: {"small": 0}),
            ("embedding_not_divided", "The embedding is whole on every tensor rank here.",
             "Divide it by `tensor`, like the layers.", lambda c: {"rows_whole": True}),
            ("gradients_in_two_bytes", "The gradients take two bytes each here.", "Four: they are added up in float32.",
             lambda c: {"each": (2, 2, 12)}),
            ("two_moments_only", "The optimizer's state takes 8 bytes here: Adam's two moments.",
             "12: the weights in float32, too.", lambda c: {"each": (2, 4, 8)}),
        )
    ] + [
        Mistake("stages_from_one", "The stages are counted from 1 here: the first one has no embedding, and each has "
                "the micro-batches of the one before it.",
                "The first stage is 0, the last one is p - 1.",
                lambda c: held(SimpleNamespace(**vars(c) | {"stage": c.stage - 1}))),
        Mistake("activations_over_replicas", "ZeRO divides the activations, too, here. Each replica has its own: they "
                "are of other sequences.", "ZeRO 3 divides parameters, gradients and the optimizer's state.",
                lambda c: c.zero == 3 and held(c) | {"activations": held(c)["activations"] / c.shape[0]}),
        Mistake("gradients_whole_under_three", "Under ZeRO 3 the gradients are whole here.",
                "Each stage also divides what the lower ones do: zero >= 2.",
                lambda c: c.zero == 3 and held(c) | {"gradients": held(c, whole=True)["gradients"]}),
        Mistake("whole_bytes", "A fraction of a byte was cut off.", "Divide with `/`, not with `//`.",
                lambda c: {part: nbytes // 1 for part, nbytes in held(c).items()}),
    ]  # fmt: skip

    def draw(self, rng):
        for level, of, shape, stage, micro_batches, zero in HELD:
            m = micro_batches or int(rng.integers(20, 60))
            yield level, {"model": of, "shape": shape, "stage": stage, "micro_batches": m, "zero": zero}

    def draw_further(self, rng):
        for level in self.levels:
            for _ in range(2):
                data, tensor = (int(n) for n in rng.integers(2, 7, 2))
                pipeline = 1 if level == "one stage" else int(rng.integers(2, 6))
                of = {"layers": pipeline * int(rng.integers(2, 9)), "width": 64 * tensor * int(rng.integers(2, 9))}
                of |= {"heads": 2 * tensor, "vocabulary": 512 * int(rng.integers(9, 90)), "sequence": 256}
                stage, zero = int(rng.integers(pipeline)), int(rng.integers(1, 4)) if level == "ZeRO" else 0
                known = {"model": of, "shape": (data, pipeline, tensor), "stage": stage}
                yield level, known | {"micro_batches": int(rng.integers(6, 60)), "zero": zero}

    reference = reference_of(__file__, "right_parts")

    def right(self, **known):
        return rank_memory(**known)


# -- time --------------------------------------------------------------------------------------------------------------


class PipelineSeconds(PlainExercise):
    """How long a step takes"""

    signature = "pipeline_seconds(p: int, m: int, v: int, layers: int, seconds: dict[str, float]) -> float"
    levels = {"one chunk on each rank": 1, "v chunks": 1, "an output on the last stage": 1}
    mistakes = [
        Mistake("forgets_the_bubble", "The pipeline never waits here.", "(m v + p - 1) slots, not m v.",
                lambda c: c.of(c.m * c.v)),
        Mistake("bubble_of_v1", "The bubble is that of one chunk: p - 1 slots of a whole stage. With v chunks a slot "
                "is a chunk's, v times shorter.", "(m v + p - 1) slots of one chunk.",
                lambda c: c.of(c.v * (c.m + c.p - 1)) if c.v > 1 else None),
        Mistake("bubble_divided_again", "The p - 1 slots of waiting were divided by v. A slot is one chunk's, and v "
                "times as short already.", "(m v + p - 1) slots of one chunk.",
                lambda c: c.of(c.m * c.v + (c.p - 1) / c.v) if c.v > 1 else None),
        Mistake("forgets_the_chunks", "A rank works on m chunks here. It has v of them: m v in a step.",
                "(m v + p - 1) slots.", lambda c: c.of(c.m + c.p - 1) if c.v > 1 else None),
        Mistake("p_slots_of_waiting", "There are m v + p slots here.", "The last stage begins p - 1 slots late.",
                lambda c: c.of(c.m * c.v + c.p)),
        Mistake("forgets_the_all_reduces", "The tensor ranks never talk here.",
                "Four all-reduces in every layer: two forward, two backward.", lambda c: c.of(all_reduce=0.0)),
        Mistake("two_all_reduces", "A layer has two all-reduces here: none in its backward pass, or one in each pass.",
                "Four all-reduces in every layer: two forward, two backward.",
                lambda c: c.of(all_reduce=c.seconds["all_reduce"] / 2)),
        Mistake("waits_without_all_reduces", "The p - 1 slots of waiting have no all-reduces here, but other stages "
                "work in them.", "All m v + p - 1 slots are as long: computing and four all-reduces in each layer.",
                lambda c: c.of() - (c.p - 1) * c.layers * 4 * c.seconds["all_reduce"]),
        Mistake("one_all_reduce", "A layer has one all-reduce here.",
                "Four all-reduces in every layer: two forward, two backward.",
                lambda c: c.of(all_reduce=c.seconds["all_reduce"] / 4)),
        Mistake("four_in_a_chunk", "A chunk has four all-reduces here, however many layers it has.",
                "Four all-reduces in every layer: two forward, two backward.",
                lambda c: c.of(all_reduce=c.seconds["all_reduce"] / c.layers)),
        Mistake("forgets_the_gradients", "The replicas never reduce their gradients here.", "Once, at the end.",
                lambda c: c.of(gradients=0.0)),
        Mistake("gradients_in_every_micro_batch", "The gradients are reduced in every micro-batch here.",
                "Once, at the end.", lambda c: c.of(gradients=c.m * c.seconds["gradients"])),
        Mistake("layers_of_a_rank", "The layers are divided by v here, as if they were those of a rank.",
                "A chunk has `layers` layers; a rank has v times as many.",
                lambda c: c.of(layers=c.layers / c.v) if c.v > 1 else None),
        Mistake("one_layer", "A chunk has one layer here.", "It has `layers` of them.", lambda c: c.of(layers=1)),
        Mistake("forgets_the_output", "The last stage has no output here.",
                "The last stage needs `head` seconds more for each of its m micro-batches.",
                lambda c: c.of(head=0.0) if c.seconds["head"] else None),
        Mistake("output_on_every_stage", "Every stage has an output here, but the p - 1 slots before and after the "
                "last stage's work belong to other stages.",
                "The last stage begins after p - 1 slots of the others, and works m times.",
                lambda c: c.of(head=c.seconds["head"] * (c.m + c.p - 1) / c.m) if c.seconds["head"] else None),
        Mistake("output_once", "The output takes its time once here, not for every micro-batch.", "m times.",
                lambda c: c.of(head=c.seconds["head"] / c.m) if c.seconds["head"] else None),
    ]  # fmt: skip

    def draw(self, rng):
        one, chunks, output = self.levels
        for level, p, m, v, layers, head in (
            (one, 4, 8, 1, 3, 0.0),
            (one, 8, 3, 1, 3, 0.0),
            (one, 1, 6, 1, 4, 0.0),  # its layers take microseconds
            (chunks, 4, 8, 2, 3, 0.0),
            (chunks, 8, 16, 4, 2, 0.0),
            (output, 4, 12, 1, 3, 2e-3),
            (output, 8, 8, 1, 2, 1.5e-3),
            (output, 1, 5, 1, 2, 2e-3),
            (output, 4, 6, 1, 1, 5e-3),  # dearer than a slot
            (output, 4, 2, 1, 3, 5e-3),  # fewer micro-batches than stages
        ):
            forward, more = 1e-6 * int(rng.integers(900, 1200)), 1e-6 * int(rng.integers(800, 1100))
            sizes = 1 << 20, 1 << (26 if m > 3 else 25)
            if p == v == 1 and not head:
                forward, more, sizes = forward * 1e-3, more * 1e-3, (1 << 10, 1 << 16)
            of_step = p, m, v, layers, forward, forward + more, head, *sizes
            seconds, replayed = timed_step(*of_step)
            known = {"p": p, "m": m, "v": v, "layers": layers, "seconds": seconds, "replayed": replayed}
            yield level, known, {"rtol": 0.01}

    def right(self, replayed, **known):
        return replayed

    def worked(self, case):
        c = super().worked(case)
        c.p = case.known["p"]  # stages

        def of(slots=c.m * c.v + c.p - 1, layers=c.layers, **changed):
            seconds = c.seconds | changed
            last = seconds_of(1, 1, 1, layers, seconds | {"head": 0.0, "gradients": 0.0})
            return slots * last + c.m * seconds["head"] + seconds["gradients"]

        c.of = of
        return c


# -- the search --------------------------------------------------------------------------------------------------------


class BestMesh(SearchExercise):
    """The best mesh"""

    signature = (
        "best_mesh(model: dict, gpus: int, batch: int, per_node: int, memory: float, seconds: Callable) "
        "-> tuple[int, int, int]"
    )
    levels = {"within 5 % of the best": 3, "nothing fits": 1}
    given, harness = SearchExercise.given, SearchExercise.harness
    uses = ("rank_memory",)
    mistakes = [
        TAKES_ANYTHING,
        Mistake(REFUSES.name, REFUSES.why, "Raise a ValueError only if no mesh fits. A mesh that takes all of "
                "`memory` fits, and its lengths need not be powers of two."),
        Mistake("no_mesh", "The result is not three positive whole numbers whose product is `gpus`.",
                "(data, pipeline, tensor), with data * pipeline * tensor == gpus."),
        Mistake("tp_across_nodes", "The tensor groups are larger than a node, so that their all-reduces, four in every "
                "layer, go over the slow links.", "tensor <= per_node."),
        Mistake("does_not_come_out_even", "This mesh does not divide evenly.",
                "`tensor` divides the heads, `pipeline` the layers, `data` the batch."),
        Mistake("does_not_fit", "On this mesh a rank has to hold more than its memory.",
                "On every stage the four parts of `rank_memory` must add up to at most `memory`."),
        Mistake("backwards", "These are the lengths of the best mesh, the last axis first.",
                "(data, pipeline, tensor)."),
        Mistake("divides_batch_by_all_ranks", "This would be the best mesh if a replica had batch / gpus "
                "micro-batches. The ranks of a replica work on the same ones.", "batch // data micro-batches."),
        Mistake("fills_the_node", "The tensor groups fill a node, and that is too large here: four all-reduces in "
                "every layer cost more than the bubble that they save.", "Try smaller groups, too."),
        Mistake("most_replicas", "This mesh has as many replicas as fit. That makes the bubble smaller, but the "
                "gradients' all-reduce longer; a mesh with as many or fewer replicas is faster.",
                "Compare `seconds` of all meshes that fit."),
        Mistake("not_the_best", "Another mesh that fits is faster.", "Compare `seconds` of all meshes that fit."),
    ]  # fmt: skip
    records = [
        Record("step time", "s", lambda case: case.known["gpus"] == 256,
               lambda case, run: mesh_seconds(case.known["model"], run.ranks[0].value,
                                              case.known["batch"] // run.ranks[0].value[0]),
               lambda case: min(that_fit(SimpleNamespace(**case.known)).values()),
               lambda case: min(that_fit(SimpleNamespace(**case.known)).values()),
               "all meshes were tried.")
    ]  # fmt: skip

    def draw(self, rng):
        level, nothing = self.levels
        for at, of, gpus, batch, per_node, memory in (
            (level, (24, 2048, 16), 16, 16 * int(rng.integers(4, 8)), 8, 10e9),
            (level, (48, 6144, 48), 128, 1024, 8, 1e9 * int(rng.integers(60, 75))),
            (level, (80, 8192, 64), 256, 1024, 8, 80e9),
            (level, (12, 768, 12), 1, 4, 8, 16e9),
            *((level, *others) for others in TO_THE_BYTE),
            (nothing, (80, 8192, 64), 16, 256, 8, 1e9 * int(rng.integers(60, 75))),
            (nothing, (80, 8192, 64), 16, 256, 4, 85e9),  # just too little; groups of 8 would fit
        ):
            model = dict(zip(("layers", "width", "heads"), of, strict=True)) | {"vocabulary": 51200, "sequence": 2048}
            yield at, {"model": model, "gpus": gpus, "batch": batch, "per_node": per_node, "memory": memory}


# -- utilisation -------------------------------------------------------------------------------------------------------


class MfuAndHfu(PlainExercise):
    """Two utilisations"""

    signature = (
        "mfu_and_hfu(tokens_per_second: float, model: dict, gpus: int, peak: float, recompute: str) "
        "-> tuple[float, float]"
    )
    levels = {"no recomputation": 1, "full recomputation": 2}
    mistakes = [
        Mistake("counts_forward_only", "Only the forward pass is counted: 2 FLOPs for a parameter and a token.",
                "The backward pass takes twice as many: 6 in all.", lambda c: shares(c, (2, 4), (4, 8))),
        Mistake("forgets_attention_flops", "Attention's scores and sums are left out: they have no parameters, but "
                "they take FLOPs.",
                "Add 12 * layers * width * sequence for each token.", lambda c: shares(c, looks=(0, 0))),
        Mistake("attention_forward_only", "Attention's scores and sums are counted in the forward pass alone.",
                "4 * layers * width * sequence forward, and twice that backward.", lambda c: shares(c, looks=(4, 8))),
        Mistake("hfu_for_mfu", "The first number includes what was recomputed. The model does not need it twice.",
                "The first number is what the model needs: 6 and 12, whatever was recomputed.",
                lambda c: shares(c, (8, 8), (16, 16)) if c.recompute == "full" else None),
        Mistake("mfu_for_hfu", "Neither number includes what was recomputed, but the hardware computed it.",
                "The second number counts the forward pass twice if it is recomputed: 8 and 16.",
                lambda c: shares(c, (6, 6), (12, 12)) if c.recompute == "full" else None),
        Mistake("attention_not_recomputed", "With everything recomputed, attention's scores and sums are, too.",
                "8 and 16.", lambda c: shares(c, (6, 8), (12, 12)) if c.recompute == "full" else None),
        Mistake("swapped", "The two numbers are in the wrong order.", "(MFU, HFU).",
                lambda c: shares(c, swapped=True) if c.recompute == "full" else None),
        Mistake("recomputes_always", "Nothing was recomputed in this run.", "Look at `recompute`.",
                lambda c: shares(c, (6, 6), (12,
                12))[:1] + [shares(SimpleNamespace(**vars(c) | {"recompute": "full"}))[1]]
                if c.recompute == "none" else None),
        Mistake("half_masked", "Half of attention's scores are left out, as masked. By convention all are counted.",
                "12 l h s, and 16 l h s with recomputation.", lambda c: shares(c, looks=(6, 8))),
        Mistake("parameters_of_the_layers", "`parameters` was not looked at: these are 12 l h^2, those of the layers "
                "without embedding and output.", "6 FLOPs for each of model['parameters'].",
                lambda c: shares(SimpleNamespace(**vars(c) | {"model": c.model | {
                    "parameters": 12 * c.model["layers"] * c.model["width"] ** 2}}))),
        Mistake("rounded", "The numbers are rounded.", "Return them as they are, and round where you print them."),
        Mistake("percent", "These are percentages.", "Numbers from 0 to 1.", lambda c: shares(c, factor=100.0)),
        Mistake("of_one_gpu", "The tokens of all GPUs were divided by the peak of one.", "gpus * peak.",
                lambda c: shares(c, factor=c.gpus)),
    ]  # fmt: skip

    def draw(self, rng):
        for recompute in ("none", "none", "full", "full"):
            layers, width = int(rng.integers(24, 49)), 1024 * int(rng.integers(3, 9))
            parameters = 12 * layers * width**2 + 102400 * width
            model = {"parameters": parameters, "layers": layers, "width": width, "sequence": 8192}
            gpus = int(rng.integers(100, 2000))
            rate = round(gpus * 312e12 * float(rng.uniform(0.3, 0.4)) / (6 * parameters))
            level = list(self.levels)[recompute == "full"]
            yield level, {"tokens_per_second": rate, "model": model, "gpus": gpus, "peak": 312e12,
                          "recompute": recompute}  # fmt: skip

    def right(self, **known):
        return shares(SimpleNamespace(**known))

    def read(self, answer, **known):
        right = self.right(**known)
        rounded = ([round(share, digits) for share in right] for digits in range(1, 9))
        return "rounded" if any(difference(one, answer, 0.0, 0.0) is None for one in rounded) else None


# -- gradients ---------------------------------------------------------------------------------------------------------


class AverageAndNorm(MeshGradientsExercise):
    """A gradient on a mesh, and its norm"""

    signature = (
        "average_and_norm(gradients: dict[str, torch.Tensor], replicated: list[str], shape: tuple[int, int, int]) "
        "-> float"
    )
    never_alone = "its mesh has two axes or more"
    levels = {"one stage": 2, "stages": 2, "all three axes": 1}
    uses = ("axis_groups",)
    mistakes = [
        Mistake("sum_for_mean", "The gradients are summed over the replicas, not averaged.", "Divide by `data`.",
                lambda c: as_tensors(averaged(c, mean=False))),
        Mistake("left_as_they_were", "The gradients in the dict did not change: the results went into other tensors, "
                "but the optimizer will read these.",
                "Change them in place: `dist.all_reduce(gradient)`, `gradient /= data`, `copy_`.",
                lambda c: as_tensors(c.gradients)),
        Mistake("averaged_over_everybody", "The gradients are means over all ranks. Other stages and other tensor "
                "ranks have the gradients of other parameters.",
                "Average over the ranks that differ only in `data`.",
                lambda c: as_tensors(averaged(c, everybody=True)) if all("embedding" in own for own in c.gradients)
                and (c.shape[1] == 1 or c.shape[2] > 1) else None),
        Mistake("tied_apart", "The embedding's gradients on the first and the last stage were never added. The two "
                "copies drift apart from this step on.",
                "One matrix, used twice: its gradient is the sum of both.", lambda c: as_tensors(averaged(c,
                tied="apart"))),
        Mistake("tied_mean", "The embedding's gradient is the mean of those on the first and the last stage.",
                "One matrix, used twice: its gradient is the sum of both.", lambda c: as_tensors(averaged(c,
                tied="mean"))),
        Mistake("tied_on_one_stage", "The first stage has the sum of the embedding's two gradients, the last one its "
                "own. The two copies drift apart from this step on.",
                "Both stages need the sum.", lambda c: as_tensors(averaged(c, tied="first"))),
        Mistake("replicated_summed", "Replicated gradients were added up over the tensor ranks. Each has the whole "
                "gradient already.", "Leave it as it is.", lambda c: as_tensors(averaged(c, times_tensor=True))),
        Mistake("tensor_shards_left_out", "The norm has only the squares of one tensor rank's parts.",
                "Add the squares up over the tensor ranks, too.", lambda c: as_norms(norms(c, axes=(1,), each=True))),
        Mistake("global_norm_over_one_axis", "The norm is that of one stage. Each stage would clip by its own norm.",
                "Add the squares up over the stages, too.", lambda c: as_norms(norms(c, axes=(2,)))),
        Mistake("norm_of_one_rank", "The norm is that of one rank's own gradients.",
                "Add the squares up over the tensor ranks and the stages.",
                lambda c: as_norms(norms(c, axes=(), each=True, twice=True))),
        Mistake("replicated_counted_by_each", "A replicated gradient counts on each tensor rank.",
                "Count it on one tensor rank only.", lambda c: as_norms(norms(c, each=True))),
        Mistake("tied_counted_twice", "The tied embedding counts on both the first and the last stage.",
                "It is one parameter: count it once.", lambda c: as_norms(norms(c, twice=True))),
        Mistake("embedding_left_out", "On a pipeline of one stage the embedding does not count: the first stage is "
                "also the last.",
                "Leave it out where `stage > 0`, not on the last stage.", lambda c: as_norms(norms(c, never=True))),
        Mistake("embedding_taken_as_replicated", "The embedding counts on one tensor rank only, though it is not in "
                "`replicated`: each tensor rank has a part of its own.",
                "Look at `replicated`, not at the name.", lambda c: as_norms(norms(c, alike=True))),
        Mistake("counts_the_replicas", "The squares were added up over the replicas, too, but these hold the same.",
                "Add them up over `pipeline` and `tensor` only.", lambda c: as_norms(norms(c, axes=(0, 1, 2)))),
        Mistake("norm_before_the_sum", "In the norm each stage counts its own gradient of the embedding, as it was "
                "before the two were added.", "Add them first, then count their sum once.",
                lambda c: as_norms(norms(c, gradients=averaged(c, tied="apart"), twice=True))),
        Mistake("norms_added", "Norms were added, not their squares.", "Take the root last.",
                lambda c: as_norms(norms(c, of_norms=True))),
        Mistake("squared", "This is the square of the norm.", "Take the root last.",
                lambda c: as_norms(norms(c, root=False))),
        Mistake("norm_before_the_mean", "This is the norm of the gradients before they were averaged.",
                "Average first.", lambda c: as_norms(norms(c, gradients=c.gradients))),
        Mistake("too_many_bytes", "More bytes were sent than it takes to average the gradients once, to add the two of "
                "the embedding, and to exchange a few numbers.",
                "For the norm, one number from each rank is enough; stages in the middle have no embedding to add."),
        Mistake("not_in_place", "A name in the dict got a new tensor, but the optimizer holds the old one.",
                "Write into the tensor: `/=`, `copy_`."),
    ]  # fmt: skip

    def cases(self, rng):
        _, stages, _ = self.levels
        # a stage in the middle has no embedding, also where it is replicated
        return [*super().cases(rng), self._case(rng, stages, (1, 3, 1), ["embedding"])]


# -- failures ----------------------------------------------------------------------------------------------------------


class CheckpointEvery(PlainExercise):
    """Steps between two checkpoints"""

    signature = "checkpoint_every(step: float, save: float, mtbf: float, ranks: int) -> int"
    levels = {"fast saves": 1, "slow saves": 2}
    mistakes = [
        Mistake("no_steps", "The result is not a whole number of steps, at least 1.", "Round it, to at least 1."),
        Mistake("of_one_rank", "This is the interval for one rank. All ranks together fail `ranks` times as often.",
                "mtbf / ranks."),
        Mistake("seconds_for_steps", "These are seconds, not steps.", "Divide by `step`."),
        Mistake("forgets_the_two", "The factor 2 is missing.", "sqrt(2 * save * mtbf of all ranks together)."),
        Mistake("to_first_order", "This is Young's interval. It assumes that a save takes next to no time compared "
                "with the time between failures.",
                "Compare the expected time of several intervals, or look up Daly's second formula."),
        Mistake("not_the_best", "Another interval loses less time.",
                "Everything takes M (exp((w + save) / M) - 1) / w times as long: try one number of steps after the "
                "other."),
    ]  # fmt: skip
    records = [
        Record("time lost", "of the time of the steps", lambda case: case.known["ranks"] == 16384,
               lambda case, run: lost(run.ranks[0].value, **case.known),
               lambda case: lost(best_of(**case.known), **case.known),
               lambda case: lost(best_of(**case.known), **case.known),
               "all numbers of steps were tried.")
    ]  # fmt: skip

    def draw(self, rng):
        quick, slow = self.levels
        year = 365 * 86400.0
        yield quick, {"step": 4.5, "save": 30.0, "mtbf": 11124.0 * 16384, "ranks": 16384}
        yield quick, {"step": float(rng.integers(2, 6)), "save": float(rng.integers(10, 30)), "mtbf": 6 * year,
                      "ranks": int(rng.integers(1000, 4000))}  # fmt: skip
        for share, ranks in ((6, 8192), (3, 100_000)):
            mtbf = float(rng.integers(4, 7)) * year
            yield slow, {"step": float(rng.integers(2, 6)), "save": round(mtbf / ranks / share, 1), "mtbf": mtbf,
                         "ranks": ranks}  # fmt: skip
        for step, save, every in ((298.0, 200.0, 1200), (257.0, 200.0, 1200), (1400.0, 200.0, 1200), (0.01, 15.0, 3e3),
                                  (0.001, 0.05, 1.9), (90.0, 16.0, 800.0), (320.0, 485.0, 600.0)):  # fmt: skip
            yield slow, {"step": step, "save": save, "mtbf": 8192.0 * every, "ranks": 8192}
        yield slow, {"step": 1.0, "save": 600.0, "mtbf": 3600.0, "ranks": 1}

    def draw_further(self, rng):
        quick, slow = self.levels
        year = 365 * 86400.0
        for level, mtbf in ((quick, 6 * year), (slow, float(rng.uniform(4, 7)) * year)):
            ranks = int(rng.integers(1000, 4000))
            save = round(mtbf / ranks / float(rng.uniform(3, 6)), 1) if level == slow else float(rng.uniform(10, 30))
            yield level, {"step": float(rng.uniform(2, 6)), "save": save, "mtbf": mtbf, "ranks": ranks}

    def read_right(self, answer, step, save, mtbf, ranks):
        known = {"step": step, "save": save, "mtbf": mtbf, "ranks": ranks}
        if type(answer) not in (int, float) or answer != answer or answer < 1:
            return "no_steps"
        answer = min(answer, 10**15)  # beyond any run
        if answer != math.floor(answer):
            return "no_steps"
        least, taken = (1 + lost(n, **known) for n in (best_of(**known), answer))
        if taken <= 1.001 * least:
            return None
        young = math.sqrt(2 * save * mtbf / ranks)
        for name, seconds in (
            ("of_one_rank", math.sqrt(2 * save * mtbf) if ranks > 1 else 0.0),
            ("seconds_for_steps", young * step),
            ("seconds_for_steps", best_of(**known) * step * step),
            ("forgets_the_two", young / math.sqrt(2)),
            ("to_first_order", young),
        ):
            if abs(answer - seconds / step) <= 1 < seconds / step / 20:  # of a few steps too many things are one off
                return name
        return Finding("not_the_best", f"It takes {taken:.4g} times as long as the steps alone, where {least:.4g} do.")


# -- a budget ----------------------------------------------------------------------------------------------------------


class ComputeOptimal(PlainExercise):
    """Parameters and tokens for a budget"""

    signature = "compute_optimal(flops: float, law: dict, available: float) -> tuple[float, float]"
    levels = {"enough data": 2, "not enough data": 1}
    rtol = 1e-3  # whoever searches finds a flat minimum
    mistakes = [
        Mistake(name, why, how, lambda c, slip=slip: allotted(c, **slip))
        for name, why, how, slip in (
            ("exponents_swapped", "The exponents are swapped: the parameters grow with alpha / (alpha + beta) here.",
             "The parameters grow with (flops / 6) ** (beta / (alpha + beta)): the faster the data's term falls, the "
             "more is left for parameters.", {"swapped": True}),
            ("forgets_the_six", "flops = N D here. Each parameter takes 6 FLOPs for each token.", "N D = flops / 6.",
             {"each": 1}),
            ("counts_forward_only", "A parameter takes 2 FLOPs for a token here: the forward pass alone.",
             "N D = flops / 6: the backward pass takes twice as many.", {"each": 2}),
            ("powers_alone", "These are the right powers of flops / 6, without their factors, which come from A, B and "
             "both exponents.",
             "Set the derivative of A / N^alpha + B / D^beta along N D = flops / 6 to zero.", {"factor": False}),
            ("terms_equal", "Here A / N^alpha and B / D^beta are equal. Where the loss is smallest, their slopes are.",
             "alpha A / N^alpha = beta B / D^beta.", {"slopes": False}),
            ("factor_upside_down", "The factor of the parameters is upside down: it multiplies the tokens.",
             "N = (alpha A / (beta B)) ** (1 / (alpha + beta)) * (flops / 6) ** (beta / (alpha + beta)).",
             {"inverse": True}),
            ("more_than_there_are", "The model is trained on more tokens than there are.",
             "If the best number of tokens is larger than `available`, take `available`.", {"limit": False}),
            ("leaves_flops", "The tokens end at `available`, and the FLOPs that they would have taken are left over.",
             "Make the model larger: N = flops / (6 available).", {"spent": False}),
            ("uses_all_tokens", "All available tokens are used, even if a larger model on fewer of them is better.",
             "`available` is an upper bound.", {"always": True}),
        )
    ] + [
        Mistake("not_the_best", "All FLOPs are spent, but on another pair of numbers the loss is smaller.",
                "Where the loss is smallest it is flat: compare slopes, alpha A / N^alpha = beta B / D^beta, not "
                "losses, and set the search no bounds."),
        Mistake("tokens_first", "These are the right numbers, the tokens first.", "(parameters, tokens).",
                lambda c: allotted(c)[::-1]),
        Mistake("twenty_tokens", "These are twenty tokens for each parameter: a rule of thumb, which this law does not "
                "follow.",
                "Minimise E + A / N^alpha + B / D^beta.",
                lambda c: (math.sqrt(c.flops / 120), 20 * math.sqrt(c.flops / 120))),
    ]  # fmt: skip

    def draw(self, rng):
        enough, scarce = self.levels
        plain = {"E": 2.0, "A": 100.0, "B": 5000.0, "alpha": 0.3, "beta": 0.4}
        yield enough, {"flops": 3.8e25, "law": HOFFMANN, "available": math.inf}
        yield enough, {"flops": 5.76e23, "law": BESIROGLU, "available": math.inf}
        yield enough, {"flops": float(rng.integers(2, 9)) * 1e21, "law": plain, "available": 1e17}
        yield enough, {"flops": 6e28, "law": HOFFMANN, "available": math.inf}  # 1e13 parameters
        yield enough, {"flops": 1e18, "law": plain | {"A": 2.0}, "available": math.inf}  # 1e5
        for level, law, share in ((enough, BESIROGLU, 300.0), (scarce, HOFFMANN, 0.4), (scarce, plain, 0.2)):
            yield level, self.with_data(float(rng.integers(20, 90)) * 1e22, law, share)

    def with_data(self, flops: float, law: dict, share: float) -> dict:
        """A case with that share of the tokens that would be best."""
        _, tokens = optimum(SimpleNamespace(flops=flops, law=law))
        return {"flops": flops, "law": law, "available": float(f"{share * tokens:.3g}")}

    def draw_further(self, rng):
        for level, share in zip(self.levels, (50.0, 0.6), strict=True):
            law = {"E": 1.8, "A": float(rng.integers(300, 600)), "B": float(rng.integers(700, 3000))}
            law |= {"alpha": float(rng.uniform(0.3, 0.34)), "beta": float(rng.uniform(0.36, 0.4))}
            yield level, self.with_data(float(rng.integers(20, 90)) * 1e22, law, share)

    def right(self, **known):
        return allotted(SimpleNamespace(**known))

    def read(self, answer, **known):
        c = SimpleNamespace(**known)
        shown = (mistake.value(c) for mistake in self.mistakes if mistake.value)
        if any(difference(list(value), answer, self.rtol) is None for value in shown):
            return None
        try:
            parameters, tokens = map(float, answer)
        except (TypeError, ValueError, OverflowError):
            return None
        spent = math.isclose(6 * parameters * tokens, c.flops, rel_tol=self.rtol)
        return "not_the_best" if spent and 0 < tokens <= c.available * (1 + self.rtol) else None


class DaysAndEnergy(PlainExercise):
    """Days and kilowatt-hours, failures included"""

    signature = "days_and_energy(flops: float, cluster: dict, mtbf: float) -> tuple[float, float]"
    levels = {"no failures": 1, "failures": 2}
    rtol = 1e-9  # a detour through float32 does not pass, nor exp(x) - 1 where x is tiny
    mistakes = [
        Mistake(name, why, how, lambda c, slip=slip: costs(c, **slip))
        for name, why, how, slip in (
            ("at_the_peak", "The GPUs reach their peak here.", "gpus * peak * utilisation FLOP/s.",
             {"utilisation": False}),
            ("one_gpu_computes", "One GPU does all the work here.", "gpus * peak * utilisation FLOP/s.",
             {"alone": True}),
            ("forgets_the_saves", "Nothing is ever saved here.",
             "After every `every` seconds of steps a save takes `save` seconds.", {"saves": False}),
            ("of_one_gpu", "These are the failures of one GPU. All GPUs together fail `gpus` times as often.",
             "M = mtbf / gpus.", {"of_one": True}),
            ("forgets_the_lost_work", "Work that a failure destroys is never done again here: only the restarts are "
             "counted.", "M (exp((every + save) / M) - 1) seconds for each `every` seconds of steps.",
             {"again": False}),
            ("forgets_the_restarts", "A failure costs the lost work here, and no restart.",
             "Each of the exp((every + save) / M) - 1 failures costs `restart` seconds more.", {"restarts": False}),
            ("to_first_order", "Half an interval is lost with each failure here. That is right only if failures are "
             "rare: they also hit saves, and work that is done again.",
             "exp((every + save) / M) - 1 failures on average, and M seconds for each.", {"first_order": True}),
            ("failures_to_first_order", "(every + save) / M failures are counted. Those during work that is done again "
             "are missing.", "exp((every + save) / M) - 1 failures on average.", {"few": True}),
            ("restarts_may_fail", "Failures hit restarts, too, here.", "Each failure costs `restart` seconds, in which "
             "nothing fails.", {"hit": True}),
            ("whole_saves", "The number of saves was rounded up.", "A part of an interval takes its part of a save.",
             {"whole_saves": True}),
            ("whole_intervals", "The last interval was taken to be a whole one.",
             "A part of an interval takes its part of the time.", {"whole_intervals": True}),
            ("energy_without_restarts", "The energy of the restarts is missing.", "Energy = power x all days.",
             {"draws": "working"}),
            ("forgets_the_building", "The energy is that of the GPUs alone.", "Multiply by the PUE.", {"pue": False}),
            ("energy_of_one_gpu", "The energy is that of one GPU.", "All `gpus` draw `watts`.", {"draws": "one"}),
            ("energy_of_useful_time", "The energy is that of the steps that count. GPUs draw power, too, while they "
             "save, restart, and compute again what was lost.", "Energy = power x all days.", {"draws": "useful"}),
            ("hours_for_days", "The first number is hours.", "Divide seconds by 86,400.",
             {"whole": 3600.0, "hours": 1.0}),
            ("kilowatt_days", "The second number is kilowatt-days.", "A day has 24 hours.", {"hours": 1.0}),
            ("watt_hours", "The second number is watt-hours.", "Divide by 1,000.", {"hours": 24e3}),
        )
    ] + [
        Mistake("infinity_times_zero", "Where nothing fails the result is not a number: M is infinite there, and "
                "exp(0) - 1 is 0.", "Without failures `every` seconds of steps take every + save seconds.",
                lambda c: (math.nan, math.nan) if c.mtbf == math.inf else None),
        Mistake("digits_cancel", "Failures are so rare here that exp(x) is nearly 1: few digits are left of exp(x) - 1 "
                "or 1 - exp(-x).", "`math.expm1(x)` is exp(x) - 1 with all its digits."),
    ]  # fmt: skip

    def cluster(self, rng, gpus: int, every: float, save: float, restart: float) -> dict:
        """A cluster with a drawn utilisation, power and PUE."""
        found = {"gpus": gpus, "peak": 989e12, "utilisation": float(rng.integers(30, 45)) / 100}
        found |= {"watts": 50.0 * int(rng.integers(8, 15)), "pue": float(rng.integers(105, 150)) / 100}
        return found | {"every": every, "save": save, "restart": restart}

    def draw(self, rng):
        nothing, failures = self.levels
        year = 365 * DAY
        flops = [float(rng.integers(2, 9)) * 1e24 for _ in range(4)]
        yield nothing, {"flops": flops[0], "cluster": self.cluster(rng, 2048, 1800.0, 90.0, 300.0), "mtbf": math.inf}
        yield nothing, {"flops": flops[1] / 1e6, "cluster": self.cluster(rng, 8, 600.0, 60.0, 0.0), "mtbf": math.inf}
        llama = {"gpus": 16384, "peak": 989e12, "utilisation": 0.4, "watts": 700.0, "pue": 1.1}
        llama |= {"every": 900.0, "save": 30.0, "restart": 300.0}
        yield failures, {"flops": 3.8e25, "cluster": llama, "mtbf": 16384 * 54 * DAY / 419}
        yield failures, {"flops": flops[2], "cluster": self.cluster(rng, 100_000, 600.0, 60.0, 400.0),
                         "mtbf": 5.0 * year}  # fmt: skip
        yield failures, {"flops": flops[3], "cluster": self.cluster(rng, 4096, 3600.0, 240.0, 900.0),
                         "mtbf": float(rng.integers(2, 5)) * year / 2}  # fmt: skip
        rare = {"gpus": 4, "peak": 312e12, "utilisation": 0.5, "watts": 400.0, "pue": 1.25}
        rare |= {"every": 20.0, "save": 2.0, "restart": 100.0}
        yield failures, {"flops": 3e21, "cluster": rare, "mtbf": 1e12}  # (every + save) / M is 9e-11
        slow = rare | {"gpus": 10, "restart": 5000.0}  # as rare, but a restart takes so long that it shows
        yield failures, {"flops": 3e21, "cluster": slow, "mtbf": 1e12}
        short = 8 * 989e12 * 0.4 * 900.0  # half of `every`
        yield nothing, {"flops": short, "cluster": llama | {"gpus": 8, "every": 1800.0, "save": 90.0}, "mtbf": math.inf}

    def draw_further(self, rng):
        for level, mtbf in zip(self.levels, (math.inf, 4 * 365 * DAY), strict=True):
            cluster = self.cluster(rng, 512 * int(rng.integers(20, 60)), 1200.0, float(rng.integers(40, 90)), 500.0)
            yield level, {"flops": float(rng.integers(2, 9)) * 1e24, "cluster": cluster, "mtbf": mtbf}

    def right(self, **known):
        return costs(SimpleNamespace(**known))

    def read(self, answer, flops, cluster, mtbf):
        found, right = as_floats(answer), costs(SimpleNamespace(flops=flops, cluster=cluster, mtbf=mtbf))
        if mtbf < 1e12 or mtbf == math.inf or len(found) != 2:
            return None
        error = np.abs(found / right - 1).max()
        return Finding("digits_cancel", f"They are right to {error:.0e}.") if 2e-7 < error < 1e-4 else None


def offered(parameters: float, gpus: int, utilisation: float, tokens: int = 1 << 22) -> dict:
    """A plan for `budget_plan`, of a model on H100s."""
    seconds = 6 * parameters * tokens / (gpus * 989e12 * utilisation)
    return {"parameters": parameters, "gpus": gpus, "seconds": float(f"{seconds:.4g}"), "tokens": tokens}


class BudgetPlan(RefusingExercise):
    """The plan that a budget buys"""

    signature = "budget_plan(gpu_days: float, days: float, plans: list[dict], law: dict) -> tuple[int, int]"
    any_type = "a whole number of steps is a float where it comes from //"
    levels = {"a budget": 2, "a deadline": 1, "no affordable step": 1}
    mistakes = [
        TAKES_ANYTHING,
        Mistake(REFUSES.name, REFUSES.why, "Raise a ValueError only if no plan can take a step.",
                lambda c: c.possible and "ValueError"),
    ] + [
        Mistake(name, why, how, lambda c, slip=slip: c.possible and (planned(c, **slip) or "ValueError"))
        for name, why, how, slip in (
            ("overspends", "The steps are rounded up: the last one is not paid for, or ends after the deadline.",
             "Whole steps, rounded down.", {"rounded": math.ceil}),
            ("one_step_short", "The last step is missing where it takes the last of the budget, or ends exactly at the "
             "deadline.", "Whole steps, rounded down: `math.floor`, not `math.ceil` less 1.",
             {"rounded": lambda most: math.ceil(most) - 1}),
            ("a_fraction", "The steps are not a whole number.", "Whole steps, rounded down.",
             {"rounded": lambda most: most}),
            ("days_for_gpu_days", "All GPUs together cost as much as one here.",
             "A plan of g GPUs uses up g GPU-days in a day.", {"of_all": False}),
            ("deadline_in_gpu_days", "The deadline was read as GPU-days: a day of all GPUs used up many days of it.",
             "All GPUs work at the same time: days * 86,400 s hold as many steps as last so long.",
             {"deadline_of_all": True}),
            ("forgets_the_deadline", "The deadline is not looked at.",
             "Take the smaller of what the budget and what the deadline permits.", {"until": False}),
            ("forgets_the_budget", "The budget is not looked at.",
             "Take the smaller of what the budget and what the deadline permits.", {"paid": False}),
            ("whole_days", "Only whole days are paid for: what the budget holds besides is lost.",
             "The days are a fraction; round the steps down, not the days.", {"parts": False}),
            ("hours_for_days", "A day has 3,600 seconds here.", "86,400 s.", {"seconds": 3600.0}),
            ("steps_for_tokens", "The loss is computed with the number of steps in place of tokens.",
             "tokens = steps * plan['tokens'].", {"tokens": lambda plan, steps: steps}),
            ("largest_model", "This is the largest model. It sees too few tokens for the smallest loss.",
             "Compare the loss of all plans.", {"key": lambda plan, tokens: -plan["parameters"]}),
            ("most_tokens", "This is the plan that sees most tokens. Its model is too small for the smallest loss.",
             "Compare the loss of all plans.", {"key": lambda plan, tokens: -tokens}),
            ("most_compute", "This is the plan that computes most, parameters times tokens. A model that is much too "
             "small or large wastes that.",
             "Compare the loss of all plans.", {"key": lambda plan, tokens: -plan["parameters"] * tokens}),
            ("closest_to_twenty", "This is the plan closest to twenty tokens for each parameter: a rule of thumb, "
             "which knows nothing of what the meshes cost.",
             "Compare the loss of all plans.",
             {"key": lambda plan, tokens: abs(math.log(tokens / plan["parameters"] / 20))}),
            ("place_among_the_rest", "The place is counted among the plans that can take a step.",
             "Its place in `plans`: keep the numbers of `enumerate(plans)` when you leave plans out.", {"rest": True}),
            ("counts_from_one", "The plans are counted from 1 here.", "The first plan's place is 0.", {"first": 1}),
            ("tokens_for_steps", "The second number is tokens.", "(place, steps).", {"gives": "tokens"}),
        )
    ]  # fmt: skip

    def draw(self, rng):
        budget, deadline, nothing = self.levels
        alike = [offered(8e9, 1024, 0.4, 1 << 24), offered(30e9, 1024, 0.4, 1 << 20)]
        alike += [offered(size, 1024, 0.4) for size in (70e9, 180e9, 405e9)]
        yield budget, {"gpu_days": 41_668.0, "days": math.inf, "plans": alike, "law": BESIROGLU}
        yield budget, {"gpu_days": 41_668.0, "days": math.inf, "plans": alike[::-1], "law": HOFFMANN}
        several = [offered(60e9, 2048, 0.23), offered(90e9, 512, 0.44, 1 << 21), offered(9e9, 256, 0.48)]
        yield budget, {"gpu_days": 20_000.0, "days": math.inf, "plans": several, "law": BESIROGLU}
        sizes = [offered(8e9, 512, 0.43), offered(70e9, 512, 0.39), offered(70e9, 4096, 0.3)]
        sizes += [offered(405e9, 4096, 0.29)]
        yield deadline, {"gpu_days": 41_667.0, "days": 30.0, "plans": sizes, "law": BESIROGLU}
        yield deadline, {"gpu_days": 3e6, "days": 2.5, "plans": sizes[::-1], "law": HOFFMANN}
        small = [offered(size, 8, 0.4, 1 << 19) for size in (1e8, 4e8, 2e9, 9e9)]
        yield deadline, {"gpu_days": 20.0, "days": 30.0, "plans": small, "law": BESIROGLU}
        for level in (budget, deadline):
            yield level, self.offers(rng, level)
        even = [offered(2e9, 64, 0.4) | {"seconds": seconds} for seconds in (1350.0, 675.0)]  # 64 and 128 in a day
        yield budget, {"gpu_days": 448.0, "days": math.inf, "plans": even, "law": BESIROGLU}
        yield deadline, {"gpu_days": 3584.0, "days": 7.0, "plans": even[1:], "law": BESIROGLU}
        # 1.1, 1.2 and 1.9 steps: one of the first plan has the most tokens
        parts = ((549_000.0, 3 << 19), (500_000.0, 1 << 19), (318_000.0, 1 << 20))
        few = [offered(2e9, 64, 0.4) | {"seconds": seconds, "tokens": tokens} for seconds, tokens in parts]
        yield budget, {"gpu_days": 448.0, "days": math.inf, "plans": few, "law": BESIROGLU}
        slow = [offered(405e9, 64, 0.3, 1 << 24), offered(70e9, 64, 0.4, 1 << 24), offered(1e12, 2048, 0.3, 1 << 26)]
        yield nothing, {"gpu_days": 1e3, "days": 0.005, "plans": slow[::2], "law": BESIROGLU}
        yield nothing, {"gpu_days": 448.0, "days": 1 / 128, "plans": even, "law": BESIROGLU}  # one step of the second
        yield nothing, {"gpu_days": 1.2, "days": 9.0, "plans": slow[::2], "law": HOFFMANN}
        yield nothing, {"gpu_days": 2.0, "days": 9.0, "plans": slow[::2], "law": HOFFMANN}  # one step of the first
        for plans in (slow, slow[::-1]):  # none of the largest
            yield nothing, {"gpu_days": 15.0, "days": 0.125, "plans": plans, "law": BESIROGLU}

    def offers(self, rng, level: str) -> dict:
        """A case of five plans in which rounding decides nothing."""
        for _ in range(100):
            plans = []
            for size in (2e9, 9e9, 40e9, 90e9, 250e9):
                gpus = 1 << int(rng.integers(8, 13))
                plans.append(offered(size * float(rng.integers(80, 120)) / 100, gpus, float(rng.uniform(0.25, 0.5))))
            days = math.inf if level == "a budget" else float(rng.integers(9, 25))
            known = {"gpu_days": 1e3 * int(rng.integers(20, 40)), "days": days, "plans": plans, "law": BESIROGLU}
            if is_clear(**known):
                return known
        raise ValueError("no clear case")

    def draw_further(self, rng):
        budget, deadline, nothing = self.levels
        yield budget, self.offers(rng, budget)
        yield deadline, self.offers(rng, deadline)
        plans = [offered(float(rng.integers(300, 900)) * 1e9, 32, 0.4, 1 << 24) for _ in range(2)]
        yield nothing, {"gpu_days": 0.4, "days": 0.25, "plans": plans, "law": BESIROGLU}

    def impossible(self, **known):
        return planned(SimpleNamespace(**known)) is None

    def right(self, **known):
        return planned(SimpleNamespace(**known))
