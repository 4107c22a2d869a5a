"""The memory of a script's ranks on several meshes, held against each other: what should be divided, and is not."""

from __future__ import annotations

from autograder.homework.mesh import sizes
from autograder.homework.mesh.runs import Ran

MODELS = 4  # times the weights: what a rank may hold beyond its later peak while it begins
Wrong = tuple[str, float, str, str]  # diagnosis, share of the points, what was found, what teaches


def whole_run_first(several: list[Ran]) -> Wrong | None:
    """The mistake if a rank has held much more until its first step was done than in the last one, or None. A whole
    model with gradient and moments, of which a part is cut, is no mistake."""
    for ran in several:
        whole = MODELS * sizes.parameters(ran.trial.settings) * sizes.FLOAT
        pairs = list(zip(ran.first, ran.peaks, strict=bool(ran.first)))
        first, later = max(pairs, key=lambda pair: pair[0] - pair[1], default=(0, 0))
        if first > later + whole:
            said = f"On {ran.where} a rank held {first:,} bytes before its first step was done, later {later:,}."
            teach = "Each step is computed when it is its turn, by all ranks; nothing is trained beforehand."
            return "whole_run_first", 1.0, said, teach
    return None


def state_not_sharded(one: Ran, data: Ran) -> Wrong | None:
    """The mistake if each replica keeps all moments, or None."""
    saved = (one.held[0] - max(data.held)) / (sizes.parameters(one.trial.settings) * sizes.FLOAT)
    if saved >= 1.0:
        return None
    said = f"Between two steps a rank holds {saved:.2f} times the weights less on {data.trial.mesh.data} replicas than"
    teach = "The moments of a shard live on the rank that owns it, and nowhere else (ZeRO-1)."
    return "state_not_sharded", 0.4, f"{said} alone; with Adam's moments divided it is 4/3.", teach


def keeps_micro_batches(few: Ran, many: Ran) -> Wrong | None:
    """The mistake if 6 micro-batches take more memory than 2, beside what is held anyway, on the worst rank; or
    None."""
    taken = [[peak - held for peak, held in zip(ran.peaks, ran.held, strict=True)] for ran in (few, many)]
    grown = max(b / max(1, a) for a, b in zip(*taken, strict=True))
    if grown <= 1.35:
        return None
    said = f"On two stages the activations of 6 micro-batches take {grown:.2f} times the memory of 2."
    teach = "1F1B keeps at most p - stage of them, and frees what a backward pass has used."
    return "keeps_all_micro_batches", 0.4, said, teach


def weights_not_divided(one: Ran, mixed: Ran) -> Wrong | None:
    """The mistake if a rank of a mixed mesh keeps more than its part of its stage, or None."""
    held = max(mixed.held) / one.held[0]
    if held <= 0.35:
        return None
    said = f"On {mixed.where} a rank holds {held:.2f} times of what it holds alone."
    return "weights_not_divided", 0.2, said, "A rank keeps its part of its stage, and nothing of the rest of the model."


def of_meshes(one: Ran, data: Ran, few: Ran, many: Ran, mixed: Ran) -> tuple[Wrong | None, ...]:
    """The mistakes of state, activations and weights, None for each that is not made. one: on one rank; data: on
    replicas; few, many: on two stages, with 2 and with 6 micro-batches; mixed: on all axes."""
    return state_not_sharded(one, data), keeps_micro_batches(few, many), weights_not_divided(one, mixed)
