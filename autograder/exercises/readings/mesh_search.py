"""The search for the best mesh, (data, pipeline, tensor), by trying every one; and what is wrong with another."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

from autograder.exercise import Finding
from autograder.exercises.kinds import PlainExercise, refused
from autograder.exercises.readings.meshes import plan_of
from autograder.exercises.source import harness_of

# (layers, width, heads), GPUs, batch, GPUs of a node, memory: all that the best mesh takes, to the byte (one more where
# thirds may be rounded), and more than 5 % faster than all others that fit. Each of its lengths is no power of two, the
# whole of a node, 1, or more than 16 somewhere.
TO_THE_BYTE = (
    ((80, 4608, 72), 60, 96, 4, 16145313793.0),  # the only one that fits: (1, 20, 3)
    ((72, 1536, 24), 96, 60, 8, 4983372288.0),  # (4, 12, 2); 32 replicas do not divide the batch
    ((30, 9216, 96), 8, 24, 8, 72315790848.0),  # (1, 1, 8)
    ((18, 6144, 48), 6, 180, 8, 44247269376.0),  # (2, 3, 1)
    ((18, 12288, 96), 12, 3, 8, 53456523265.0),  # (1, 2, 6); (1, 1, 12) would be faster
    ((40, 1280, 20), 96, 12, 8, 862006400.0),  # (3, 8, 4): fewer micro-batches than stages
    ((6, 1280, 20), 12, 48, 6, 903335680.0),  # (3, 2, 2); (4, 1, 3) does not divide the heads
    ((3, 384, 6), 12, 16, 8, 173438208.0),  # (2, 3, 2): a stage for each layer
    ((6, 1536, 12), 24, 60, 3, 943898112.0),  # (4, 3, 2); (6, 1, 4) would be faster
)


@cache
def _estimated(model: tuple, shape: tuple, micro_batches: int) -> float:
    return plan_of(dict(model), shape, micro_batches).estimate().seconds


def mesh_seconds(model: dict, shape, micro_batches: int) -> float:
    """Seconds of a step by the simulator; ValueError where it does not come out even."""
    return _estimated(tuple(model.items()), tuple(shape), micro_batches)


def meshes(model: dict, gpus: int, batch: int, per_node: int):
    """Every shape that comes out even."""
    for tensor in range(1, gpus + 1):
        for pipeline in range(1, gpus // tensor + 1):
            data, rest = divmod(gpus, tensor * pipeline)
            even = rest or model["heads"] % tensor or model["layers"] % pipeline
            if tensor <= per_node and not even and batch % data == 0:
                yield data, pipeline, tensor


@cache
def _largest(model: tuple, shape: tuple, micro_batches: int) -> float:
    plan = plan_of(dict(model), shape, micro_batches)
    return max(plan.memory(stage).total for stage in range(shape[1]))


def most_memory(model: dict, shape, batch: int) -> float:
    """Bytes of the rank that holds most."""
    return _largest(tuple(model.items()), tuple(shape), batch // shape[0])


def that_fit(c) -> dict[tuple, float]:
    """Every mesh that comes out even and fits -> its seconds."""
    every = meshes(c.model, c.gpus, c.batch, c.per_node)
    fits = [shape for shape in every if most_memory(c.model, shape, c.batch) <= c.memory]
    return {shape: mesh_seconds(c.model, shape, c.batch // shape[0]) for shape in fits}


class SearchExercise(PlainExercise):
    """A mesh is returned; what it costs, the simulator says."""

    given = ("model", "gpus", "batch", "per_node", "memory")
    harness = harness_of(__file__, "mesh_search")

    def read_right(self, answer, **known):
        c = SimpleNamespace(**known)
        fit = that_fit(c)
        if not fit:
            return None if refused(answer) else "takes_anything"
        if refused(answer):
            return "refuses_what_can_be"
        if not isinstance(answer, list) or len(answer) != 3 or not all(type(n) is int and n > 0 for n in answer):
            return "no_mesh"
        if math.prod(answer) != c.gpus:
            return Finding("no_mesh", f"{' x '.join(map(str, answer))} is {math.prod(answer)}, not {c.gpus}.")
        shape, every = tuple(answer), set(meshes(c.model, c.gpus, c.batch, c.per_node))
        best = min(fit, key=fit.get)
        if shape == best[::-1] and fit.get(shape, math.inf) > 1.05 * fit[best]:
            return "backwards"
        if shape[2] > c.per_node:
            return Finding("tp_across_nodes", f"Groups of {shape[2]} on nodes of {c.per_node}.")
        if shape not in every:
            return Finding("does_not_come_out_even", f"{shape} for {c.model['layers']} layers and {c.batch} sequences.")
        if shape not in fit:
            most = most_memory(c.model, shape, c.batch)
            return Finding("does_not_fit", f"{shape}: up to {most / 1e9:.1f} GB on a rank, with {c.memory / 1e9:g} GB.")
        if fit[shape] <= 1.05 * fit[best]:
            return None
        return Finding(self._name(c, shape, fit, every), f"{shape} takes {fit[shape] / fit[best]:.2f} times as long as "
                       "the best mesh that fits.")  # fmt: skip

    @staticmethod
    def _name(c, shape, fit, every) -> str:
        few = c.batch // c.gpus
        held_then = {s for s in every if most_memory(c.model, s, few * s[0]) <= c.memory} if few else set()
        if held_then and shape == min(held_then, key=lambda s: mesh_seconds(c.model, s, few)):
            return "divides_batch_by_all_ranks"
        if shape[0] == max(one[0] for one in fit):
            return "most_replicas"
        return "fills_the_node" if shape[2] == c.per_node else "not_the_best"
