"""Bytes and memory of a mesh and the time of a step, for unit 20's exercises, each also with one thing done
otherwise; checkpoints.

A mesh is its shape, (data, pipeline, tensor), the last axis innermost.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np

from labkit.interconnect.topology import Topology, flat, nodes
from labkit.scale import Mesh, Model, Plan, Step, machine, order_1f1b, order_interleaved, replay_step, traffic
from labkit.scale.wires import Wires

AXES = ("data", "pipeline", "tensor")
PARTS = ("parameters", "gradients", "optimizer", "activations")


def mesh_of(shape) -> Mesh:
    """The simulator's, whose neighbouring ranks differ in `tensor`, too."""
    data, pipeline, tensor = shape
    return Mesh(tensor, 1, pipeline, data)


def model_of(model: dict) -> Model:
    """GPT's, with biases and tied embeddings."""
    heads = model.get("heads", model["width"])  # who asks for bytes need not name them
    return Model(model["layers"], model["width"], heads, model["vocabulary"], model["sequence"])


# -- bytes -------------------------------------------------------------------------------------------------------------


def step_of(shape, work: dict) -> Step:
    """One step of the simulator."""
    names = ("layers", "tensor_bytes", "hop_bytes", "gradient_bytes")
    return Step(mesh_of(shape), work["micro_batches"], **{name: work[name] for name in names})


def step_bytes(shape, work: dict, per_node: int) -> dict[str, dict[str, float]]:
    """As the simulator counts, and the relay (tests/autograder/exercises/test_unit_20.py)."""
    found = traffic(step_of(shape, work), nodes(per_node))
    return {axis: {kind: found[axis].get(kind, 0.0) for kind in ("inside", "between")} for axis in AXES}


def counted(
    shape,
    work: dict,
    per_node: int,
    *,
    order=(0, 1, 2),
    reduces=4,
    often=1,
    share=2,
    ways=2,
    wraps=False,
    of_one=False,
    lonely=True,
    layers=0,
    inside="",
    group_by=None,
    closed=True,
    pairs=True,
    chain=False,
    whole=False,
) -> dict[str, dict[str, float]]:
    """The same, edge by edge, with one thing done otherwise. order: of the axes, outermost first. reduces: of a layer.
    often: gradients, in a step. share: 2 of 2 (t - 1) / t. ways: messages go on and come back. wraps: from the last
    stage to the first. of_one: what one rank sends. lonely: a rank sends all but its own part. layers: of a stage, in
    place of those that it has. inside: an axis that never leaves a node. group_by: what these ranks of a group are to
    each other, all its edges are. closed: the last rank of a ring sends to the first. pairs: of two ranks as well.
    chain: of a pipeline's edges each is what its own ranks are. whole: the parts of a ring are rounded down."""
    ranks = np.arange(math.prod(shape)).reshape([shape[k] for k in order]).transpose(np.argsort(order))
    m, found = work["micro_batches"], {axis: {"inside": 0.0, "between": 0.0} for axis in AXES}

    def send(axis: str, a: int, b: int, nbytes: float, group: list[int]) -> None:
        own = not group_by or (chain and axis == "pipeline")
        on = {r // per_node for r in ((a, b) if own else group[group_by])}
        found[axis]["inside" if len(on) == 1 or axis == inside else "between"] += nbytes

    for place, axis, times, nbytes in (
        (0, "data", often, work["gradient_bytes"]),
        (2, "tensor", reduces * m * (layers or work["layers"]), work["tensor_bytes"]),
    ):
        for group in np.moveaxis(ranks, place, -1).reshape(-1, shape[place]).tolist():
            n = len(group)
            ends = group[:1] if closed and (pairs or n != 2) else []
            for a, b in zip(group, [*group[1:], *ends], strict=False):
                if n > 1:
                    part = share * (n - 1) / n if lonely else share
                    send(axis, a, b, part * times * (nbytes // n * n if whole else nbytes), group)
    for group in np.moveaxis(ranks, 1, -1).reshape(-1, shape[1]).tolist():
        for a, b in [*pairwise(group), *([(group[-1], group[0])] if wraps and len(group) > 1 else [])]:
            send("pipeline", a, b, ways * m * work["hop_bytes"], group)
    size = math.prod(shape)
    return {axis: {kind: n / (size if of_one else 1) for kind, n in kinds.items()} for axis, kinds in found.items()}


# -- memory ------------------------------------------------------------------------------------------------------------

_SMALL = {"layers": 24, "width": 2304, "heads": 24, "vocabulary": 51200, "sequence": 2048}
_NAMED = {name: _SMALL[name] for name in ("layers", "width", "vocabulary", "sequence")}  # by the text; more may come
_LARGE = {"layers": 48, "width": 8192, "heads": 64, "vocabulary": 51200, "sequence": 2048}
_WORDS = {"vocabulary": 256003, "sequence": 1023, "heads": 12, "width": 9228, "layers": 21}  # V h > 2^31
_TINY = {"layers": 6, "heads": 12, "width": 24, "sequence": 15, "vocabulary": 257}  # a fraction of a byte shows
HELD = (  # level, model, shape, stage, micro-batches (0: drawn), zero
    ("one stage", _SMALL, (1, 1, 1), 0, 0, 0),
    ("one stage", _NAMED, (4, 1, 2), 0, 0, 1),
    ("one stage", _TINY, (7, 1, 3), 0, 0, 1),
    ("stages", _LARGE, (2, 4, 8), 0, 0, 1),
    ("stages", _LARGE, (2, 4, 8), 2, 0, 1),
    ("stages", _LARGE, (2, 4, 8), 3, 0, 1),
    ("stages", _LARGE, (4, 12, 8), 3, 5, 0),
    ("stages", _WORDS, (5, 3, 4), 0, 2, 1),
    ("ZeRO", _SMALL, (8, 2, 4), 0, 0, 2),
    ("ZeRO", _SMALL, (8, 2, 4), 1, 0, 3),
    ("ZeRO", _TINY, (7, 3, 2), 0, 2, 3),
)


def plan_of(model: dict, shape, micro_batches: int, zero: int = 1) -> Plan:
    """A plan of the simulator: micro-batches of one sequence, attention's scores recomputed."""
    batch = micro_batches * shape[0]
    return Plan(model_of(model), mesh_of(shape), machine("DGX-H100"), batch, zero=zero, recompute="selective")


def rank_memory(model: dict, shape, stage: int, micro_batches: int, zero: int) -> dict[str, float]:
    """Bytes of one rank of a stage."""
    held = plan_of(model, shape, micro_batches, zero).memory(stage)
    return {part: getattr(held, part) for part in PARTS}


def held(
    c,
    *,
    everywhere=False,
    places=False,
    untied=False,
    alone=False,
    whole=False,
    over_all=False,
    in_flight=None,
    split=True,
    small=13,
    rows_whole=False,
    each=(2, 4, 12),
    shifted=0,
    alone_shared=False,
) -> dict[str, float]:
    """The same with one thing done otherwise. everywhere: the embedding on every stage. places: those of its copy, too.
    untied: no copy on the last. alone: one on a stage that is the first and the last. whole: nothing is sharded over
    the replicas. over_all: sharded over all ranks. in_flight: micro-batches. split: activations are divided over the
    tensor ranks. small: times h, a layer's biases and norms. rows_whole: the embedding is not divided. shifted: so many
    ZeRO stages too early. alone_shared: a stage of ZeRO divides its own part only."""
    (data, pipeline, tensor), h, model = c.shape, c.model["width"], c.model
    own, rows = model["layers"] // pipeline * (12 * h * h + small * h), 0
    last = c.stage == pipeline - 1
    if c.stage == 0 or (everywhere and not last) or (places and last):
        rows = model["vocabulary"] + model["sequence"]
    elif last and not untied:
        rows = model["vocabulary"]
    rows += model["vocabulary"] if alone and pipeline == 1 else 0
    own = own / tensor + rows * h if rows_whole else (own + rows * h) / tensor
    replicas = 1 if whole else data * (pipeline * tensor if over_all else 1)
    divided = range(c.zero, c.zero + 1) if alone_shared else range(c.zero + shifted + 1)
    shared = [replicas if at in divided else 1 for at in (3, 2, 1)]
    weights = [own * n / among for n, among in zip(each, shared, strict=True)]
    passes = min(c.micro_batches, pipeline - c.stage) if in_flight is None else in_flight
    layer = 34 * model["sequence"] * h / (tensor if split else 1)
    return dict(zip(PARTS, [*weights, layer * model["layers"] // pipeline * passes], strict=True))


# -- time --------------------------------------------------------------------------------------------------------------

NETWORK = flat(2e-6, 1e-10)
TENSOR, REPLICAS = 4, 2  # ranks on the other axes of the replay
WEIGHTS = 1 << 20


def seconds_of(p: int, m: int, v: int, layers: int, seconds: dict) -> float:
    """The seconds of a step, by the closed formula."""
    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]


@cache
def _talk(p: int, network: Topology, reduce_bytes: int, gradient_bytes: int) -> tuple[float, float]:
    wires = Wires(Mesh(TENSOR, 1, p, REPLICAS), network)
    reduce = wires.collective("all_reduce", "tensor").seconds(reduce_bytes)
    return reduce, wires.collective("all_reduce", "data", "context").seconds(gradient_bytes)


def timed_step(p, m, v, layers, forward, backward, head, reduce_bytes, gradient_bytes) -> tuple[dict, float]:
    """The facts of a step that a student is told, and those that the replay finds: messages between the stages are in
    it.
    """
    reduce, gradients = _talk(p, NETWORK, reduce_bytes, gradient_bytes)
    told = {"forward": forward, "backward": backward, "all_reduce": reduce, "head": 3 * head, "gradients": gradients}
    step = Step(
        *(Mesh(TENSOR, 1, p, REPLICAS), m, v, layers, forward, backward, head),
        tensor_bytes=reduce_bytes, hop_bytes=1000, gradient_bytes=gradient_bytes // v,
    )  # fmt: skip
    order = order_1f1b if v == 1 else order_interleaved
    return told, replay_step(step, NETWORK, order).seconds


# -- utilisation -------------------------------------------------------------------------------------------------------


def shares(c, passes=(6, 8), looks=(12, 16), swapped=False, factor=1.0) -> list[float]:
    """MFU and HFU. passes: FLOPs for a parameter and a token, and with everything recomputed; looks: of attention."""
    model, again = c.model, c.recompute == "full"
    found = []
    for k in (0, again):
        flops = passes[k] * model["parameters"] + looks[k] * model["layers"] * model["width"] * model["sequence"]
        found.append(factor * c.tokens_per_second * flops / (c.gpus * c.peak))
    return found[::-1] if swapped else found


# -- checkpoints -------------------------------------------------------------------------------------------------------


def stretched(useful: float, save: float, mtbf: float) -> float:
    """The factor by which a run takes longer: between failures, drawn from an exponential distribution, pass `mtbf`
    seconds in the mean; `useful` seconds of steps and a save must come without one. A restart takes no time here: it
    makes all intervals longer by the same factor."""
    return mtbf * math.expm1(min((useful + save) / mtbf, 500.0)) / useful


def best_interval(step: float, save: float, mtbf: float) -> int:
    """Steps between two checkpoints, by trying."""
    highest = max(1, math.ceil(2 * math.sqrt(2 * save * mtbf) / step))
    low = 1
    while highest - low > 2:  # it has one minimum
        third = (highest - low) // 3
        left, right = low + third, highest - third
        if stretched(left * step, save, mtbf) <= stretched(right * step, save, mtbf):
            highest = right
        else:
            low = left
    return min(range(low, highest + 1), key=lambda n: stretched(n * step, save, mtbf))


def best_of(step, save, mtbf, ranks) -> int:
    """Steps, on all ranks."""
    return best_interval(step, save, mtbf / ranks)


def lost(steps, step, save, mtbf, ranks) -> float:
    """The share of the steps' time that is lost, with so many steps between two checkpoints."""
    return stretched(steps * step, save, mtbf / ranks) - 1
