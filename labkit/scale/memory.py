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


@dataclass(frozen=True)
class Kept:
    """A tensor that a layer keeps for its backward pass. bytes: for each token, of all ranks of a tensor group.
    divided: over the group even without sequence parallelism. again: selective recomputation computes it once more."""

    name: str
    bytes: float
    divided: bool = False
    again: bool = False


def kept_tensors(model: Model, sequence: int = 0, flash: bool = False) -> tuple[Kept, ...]:
    """The tensors that one layer keeps, in the order of its forward pass, with two bytes for a number, one for a place
    of a dropout's mask. For GPT that is Korthikanti et al. 2022, section 4.1.

    Without dropout there are no masks, and one copy of the scores is enough. A gated layer (SwiGLU) keeps its two
    products and what they give together; RMSNorm keeps its input as LayerNorm does; positions by rotation keep nothing
    more, as rotated queries and keys stand in place of those before. With flash attention (Dao et al. 2022) there are
    no scores, but the float32 logarithm of their sum for each token and head. Of experts a layer keeps what those do
    that a token takes. Where a model does not say whether it has dropout, the tensors are those of a GPT of its width.
    """
    if model.dropout is None and not model.experts:
        model = _as_gpt(model)
    h, scores = model.width, model.heads * (sequence or model.sequence)
    queries, keys = model.heads * model.head_width, model.kv_heads * model.head_width
    found = [
        Kept("input of the first norm", 2 * h),
        Kept("input of queries, keys and values", 2 * h),
        Kept("queries", 2 * queries, True),
        Kept("keys", 2 * keys, True),
        Kept("values", 2 * keys, True),
    ]
    if flash:
        found.append(Kept("log-sum-exp of the scores", 4 * model.heads, True, True))
    else:
        found.append(Kept("scores after the softmax", 2 * scores, True, True))
        if model.dropout:
            found.append(Kept("mask of the scores", scores, True, True))
            found.append(Kept("scores after the dropout", 2 * scores, True, True))
    found.append(Kept("input of the output matrix", 2 * queries, True))
    mask = [Kept("mask of a dropout", h)] if model.dropout else []
    found += [*mask, Kept("input of the second norm", 2 * h), Kept("input of the feed-forward layer", 2 * h)]
    return (*found, *_kept_by_feed_forward(model), *mask)


@lru_cache
def _as_gpt(model: Model) -> Model:
    return Model(model.layers, model.width, model.heads, model.vocabulary, model.sequence, dropout=True)


def _kept_by_feed_forward(model: Model) -> list[Kept]:
    width = model.ffn
    if model.experts:
        width = (model.experts_per_token + model.shared_experts) * model.expert_width
    names = ["input of the activation function", "input of the last matrix"]
    if model.gated:
        names = ["gate", "what is gated", "input of the last matrix"]
    found = [Kept(name, 2 * width, True) for name in names]
    if model.experts:  # each expert that a token is sent to gets a copy of it
        found.insert(0, Kept("copies of the tokens for their experts", 2 * model.width * model.experts_per_token))
    return found


def layer_activations(
    model: Model,
    tokens: float,
    tensor: int = 1,
    recompute: str = "none",
    sequence_parallel: bool = True,
    sequence: int = 0,
    flash: bool = False,
) -> float:
    """Bytes that one layer keeps of one micro-batch for its backward pass, on one rank: the sum of `kept_tensors`. For
    GPT with dropout s b h (34 + 5 a s / h) / t (Korthikanti et al. 2022, table 2), and without sequence parallelism 10
    of the 34 are not divided by t. "selective": without the scores; "full": 2 s b h, the layer's input. tokens: s b, of
    this rank's part of the sequence. sequence: s."""
    if recompute == "full":
        return 2 * tokens * model.width / (tensor if sequence_parallel else 1)
    kept = [one for one in kept_tensors(model, sequence, flash) if recompute == "none" or not one.again]
    whole = sum(one.bytes for one in kept if not one.divided)
    divided = sum(one.bytes for one in kept if one.divided)
    return tokens * (whole + divided) / tensor if sequence_parallel else tokens * (whole + divided / tensor)


def end_activations(model: Model, tokens: float, tensor: int, first: int, last: bool) -> float:
    """Bytes that a stage keeps besides its layers (Korthikanti et al. 2022, section 4.3): the mask of the dropout
    behind the embedding, for `first` micro-batches of the first stage, 0 elsewhere; on the last one the inputs of the
    last norm and of the output, and float32 scores for the whole vocabulary, 4 s b h (1 + V / h) / t."""
    mask = first * model.width if model.dropout is not False else 0
    output = 4 * (model.width + model.vocabulary) if last else 0
    return tokens * (mask + output) / tensor


def alive(stage: int, p: int, m: int, v: int = 1, eager: bool = False) -> int:
    """The most forward passes of a chunk that wait for their backward pass on a stage, under 1F1B, eager 1F1B or, with
    v > 1, interleaved 1F1B."""
    if v > 1:
        return min(m * v, 2 * (p - 1 - stage) + (v - 1) * p + 1)
    return min(m, 2 * (p - 1 - stage) + 1 if eager else p - stage)


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
    """Parameters of one rank of a stage; with tied weights the last stage holds the embedding, too. The first layers of
    a mixture count as the others do."""
    return sum(stage_parts(model, mesh, stage, chunks))


def stage_parts(model: Model, mesh: Mesh, stage: int, chunks: int = 1) -> tuple[float, float]:
    """The parameters of one rank of a stage in two parts: those that all replicas share, and its routed experts."""
    layers = sum(per_chunk(model.layers, mesh.pipeline * chunks)[stage :: mesh.pipeline])
    found = layers * (model.per_layer - model.routed) + (model.embedding if stage == 0 else 0)
    if stage == mesh.pipeline - 1 and mesh.pipeline > 1:
        found += model.vocabulary * model.width
    elif stage == mesh.pipeline - 1:
        found += model.head
    return found / mesh.tensor, layers * model.routed / mesh.tensor / mesh.experts


def all_to_all_bytes(model: Model, tokens: float, experts: int) -> float:
    """Bytes that a rank sends in one layer, forward and backward, where the routed experts lie on so many ranks: each
    token goes to the ranks of its experts, in two bytes a number, and comes back; in the backward pass the gradients go
    the same ways. If all experts are taken alike, one of `experts` copies stays where it is."""
    if not model.experts or experts <= 1:
        return 0.0
    each_way = tokens * model.experts_per_token * 2 * model.width * (experts - 1) / experts
    return 4 * each_way
