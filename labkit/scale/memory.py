"""The memory of a rank in bytes: parameters, gradients, the optimizer's state, activations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from labkit.scale.mesh import Mesh
from labkit.scale.model import Model

BYTES = (2, 4, 12)  # of a parameter: bfloat16 weight; float32 gradient; float32 copy and two moments of Adam


@dataclass(frozen=True)
class Memory:
    """Bytes on one rank."""

    parameters: float
    gradients: float
    optimizer: float
    activations: float

    @property
    def total(self) -> float:
        """All of them. Buffers of libraries and what fragments are not in it."""
        return self.parameters + self.gradients + self.optimizer + self.activations


def states(parameters: float, replicas: int, zero: int, each: tuple[float, float, float] = BYTES) -> Memory:
    """Weights, gradients and optimizer state of so many parameters on one of the ranks that share them. zero: the stage
    (Rajbhandari et al. 2020): what is divided is the optimizer's state, from 2 on the gradients, from 3 on the
    weights. each: bytes of a parameter for the three."""
    parts = [parameters * n / (replicas if zero >= stage else 1) for n, stage in zip(each, (3, 2, 1), strict=True)]
    return Memory(*parts, 0.0)


def layer_activations(
    model: Model,
    tokens: float,
    tensor: int = 1,
    recompute: str = "none",
    sequence_parallel: bool = True,
    sequence: int = 0,
) -> float:
    """Bytes that one layer keeps of one micro-batch for its backward pass, on one rank (Korthikanti et al. 2022, table
    2): s b h (34 + 5 a s / h) / t. Without sequence parallelism 10 of the 34 are not divided by t. "selective": without
    5 a s / h; "full": 2 s b h, the layer's input. tokens: s b, of this rank's part of the sequence. sequence: s.

    The paper counts GPT's layers with dropout; for others it is an estimate.
    """
    sbh, looking = tokens * model.width, 5 * model.heads * (sequence or model.sequence) / model.width
    if recompute == "full":
        return 2 * sbh / (tensor if sequence_parallel else 1)
    inner = 34 + (looking if recompute == "none" else 0)
    return sbh * inner / tensor if sequence_parallel else sbh * (10 + (inner - 10) / tensor)


def alive(stage: int, p: int, m: int, v: int = 1) -> int:
    """The most forward passes of a chunk that wait for their backward pass on a stage, under 1F1B or, with v > 1,
    interleaved 1F1B."""
    return min(m, p - stage) if v == 1 else min(m * v, 2 * (p - 1 - stage) + (v - 1) * p + 1)


@lru_cache(1 << 12)
def per_chunk(layers: int, chunks: int) -> tuple[int, ...]:
    """Layers of each chunk, as even as can be; where they do not come out even, the first and last chunks, which hold
    the embedding and the output, have fewer."""
    few, more = divmod(layers, chunks)
    without = chunks - more if more else 0
    front = without // 2
    return tuple(few + (more > 0 and front <= k < chunks - (without - front)) for k in range(chunks))


@lru_cache(1 << 12)
def fullest_candidates(layers: int, pipeline: int, chunks: int = 1) -> tuple[int, ...]:
    """The stages of which one holds the most: the first, the last, and the first of each kind of those between. Of
    stages with the same layers an earlier one keeps as much or more."""
    parted = per_chunk(layers, pipeline * chunks)
    first: dict[tuple[int, ...], int] = {}
    for stage in range(1, pipeline - 1):
        first.setdefault((sum(parted[stage::pipeline]), max(parted[stage::pipeline])), stage)
    return tuple(sorted({0, *first.values(), pipeline - 1}))


def stage_parameters(model: Model, mesh: Mesh, stage: int, chunks: int = 1) -> float:
    """Parameters of one rank of a stage; with tied weights the last stage holds the embedding, too."""
    layers = sum(per_chunk(model.layers, mesh.pipeline * chunks)[stage :: mesh.pipeline])
    found = layers * model.per_layer + (model.embedding if stage == 0 else 0)
    if stage == mesh.pipeline - 1 and mesh.pipeline > 1:
        found += model.vocabulary * model.width
    elif stage == mesh.pipeline - 1:
        found += model.head
    return found / mesh.tensor
