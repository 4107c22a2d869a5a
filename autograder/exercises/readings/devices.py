"""The right and the mistaken numbers of unit 10's exercises, and readings of the ranks' numbers."""

from __future__ import annotations

import math

import numpy as np

from autograder.exercise import Finding, Run, Tensor


def tensor(values, dtype: str = "float64") -> Tensor:
    return Tensor(np.asarray(values, dtype=dtype), dtype)


def given(run: Run) -> int:
    """The most bytes that a rank handed to collectives and messages."""
    return max(rank.collective_bytes + rank.sent_bytes for rank in run.ranks)


def called(run: Run) -> int:
    """The most collectives that a rank called; a barrier is one, too: all wait for all."""
    return max(len(rank.collectives) for rank in run.ranks)


def number(value: object) -> float:
    """A number, also out of a tensor of one element; NaN where it is none."""
    value = value.values if isinstance(value, Tensor) else value
    try:
        return float(np.asarray(value, dtype=float).reshape(()))
    except (TypeError, ValueError):
        return math.nan


def numbers(run: Run, n: int) -> list[list[float]] | None:
    """n numbers for each rank, or None where a rank returned something else."""
    values = [rank.value if n > 1 else [rank.value] for rank in run.ranks]
    values = [list(v.values) if isinstance(v, Tensor) and v.values.ndim == 1 else v for v in values]
    if not all(isinstance(v, list | tuple | np.ndarray) and np.ndim(v) == 1 and len(v) == n for v in values):
        return None
    return [[number(one) for one in v] for v in values]


def chunks(rows: int, devices: int) -> list[int]:
    """Rows of each device as torch.chunk cuts them."""
    size = math.ceil(rows / devices)
    return [max(0, min(size, rows - k * size)) for k in range(devices)]


def scales_after(
    found_inf, start, growth_interval, interval=None, backoff=0.5, reset=True, again=True, every=False, whole=False
):
    """The scale after each step; the named arguments are slips."""
    scale, good, scales = start, 0, []
    for step, inf in enumerate(found_inf, 1):
        if inf:
            scale, good = float(scale * backoff // 1) if whole else scale * backoff, 0 if reset else good
        else:
            good += 1
            if step % growth_interval == 0 if every else good >= (interval or growth_interval):
                scale, good = 2 * scale, 0 if again else good
        scales.append(scale)
    return scales


def f1(matrix: np.ndarray, how: str = "macro") -> float:
    """F1 of a confusion matrix (rows: what is there, columns: what was said). how: "macro", or a mistaken way."""
    hits, have, said = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    each = 2 * hits / np.maximum(1, have + said)
    if how == "micro":
        return float(hits.sum() / matrix.sum())
    if how == "weighted":
        return float((each * have).sum() / have.sum())
    if how == "present":
        return float(each[have > 0].mean())
    if how == "missing is one":
        return float(np.where(have + said > 0, each, 1.0).mean())
    if how == "means":
        precision, recall = (hits / np.maximum(1, one) for one in (said, have))
        return float(2 * precision.mean() * recall.mean() / (precision.mean() + recall.mean()))
    return float(each.mean())


def read_evaluation(pairs: np.ndarray, k: dict) -> Finding | str | None:
    """The mistake in what the ranks made of their numbers, the loss first."""
    counts, p = np.array(k["counts"]), len(k["counts"])
    there, own = counts > 0, np.maximum(counts, 1)
    if np.isnan(pairs).any():
        return "empty_is_nan"
    right = sum(k["losses"]) / counts.sum(), sum(k["correct"]) / counts.sum()
    if np.allclose(pairs, right, rtol=1e-9):
        return "swapped"
    for what, found, sums in (("loss", pairs[:, 1], k["losses"]), ("accuracy", pairs[:, 0], k["correct"])):
        sums = np.array(sums, dtype=float)
        total = sums.sum()
        right = np.isclose(found, total / counts.sum(), rtol=1e-13, atol=0)

        def like(value, found=found):
            return np.allclose(found[there], np.broadcast_to(value, p)[there], rtol=1e-9)

        if right.all():
            continue
        if right.any() and p > 1:
            return Finding("reads_reduce_off_root", f"Rank {int(np.argmax(right))} has the right {what}.")
        ways = (
            ("own_only", sums / own),
            ("mean_of_means", (sums / own).mean()),
            ("mean_of_means", (sums / own)[there].mean()),
            ("empty_counts_one", math.nan if there.all() else total / own.sum()),
            ("divided_by_ranks", total / p),
            ("sum_for_mean", total),
        )
        name = next((name for name, value in ways if like(value)), None)
        if name is None and np.allclose(found, total / counts.sum(), rtol=1e-5):
            name = "narrow_type"
        if name:
            return Finding(name, f"The {what} shows it.")
    return None
