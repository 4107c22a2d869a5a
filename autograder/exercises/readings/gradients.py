"""Whose gradients are in a mean? Small models out of given tensors, and the reading of an average that went wrong.

A model is described by its parts, one after the other. What rank r brings is k * 10**r with k = 1, 2 or 3
(`contributions`), so a card shows who is in a sum. And whatever a rank ends up with is, as a rule, some combination of
what the ranks brought: `weights_in` finds with which weight each rank is contained in it, whether anybody thought of
the mistake before or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autograder.exercise import Case, Finding, Run, Tensor
from autograder.exercises.readings import contributions


@dataclass(frozen=True)
class Part:
    """One parameter or buffer of a model. kind: see unit 05's `build` (harness.py). absent: ranks on which its gradient
    is None; turned: on which the memory of its gradient is not contiguous."""

    name: str
    shape: tuple[int, ...]
    kind: str = "parameter"
    absent: tuple[int, ...] = ()
    turned: tuple[int, ...] = ()

    @property
    def trained(self) -> bool:
        return self.kind in ("parameter", "transposed")


FULL = 1e-12  # the relative tolerance of a mean in float64, in which four numbers are added and divided


def gradient_case(
    rng: np.random.Generator,
    level: str,
    world_size: int,
    parts: list[Part],
    dtype: str = "float64",
    more: tuple = (),
    **options,
) -> Case:
    """A case whose first argument is a `spec` with a gradient per rank. more: further arguments, the same on every
    rank.

    `known`: parts; dtype; brought, name -> one gradient per rank (zeros where it is None), for the parameters that are
    trained.
    """
    brought, specs = {}, [[] for _ in range(world_size)]
    for part in parts:
        values = rng.integers(1, 10, part.shape)
        gradients = None
        if part.trained:
            gradients, _ = contributions.summands(rng, world_size, part.shape, dtype)
            brought[part.name] = [np.where(rank in part.absent, 0, g) for rank, g in enumerate(gradients)]
        for rank, spec in enumerate(specs):
            has_none = gradients is None or rank in part.absent
            gradient = None if has_none else Tensor(gradients[rank], dtype)
            kind = "turned" if rank in part.turned else part.kind
            spec.append([part.name, kind, Tensor(values + rank, dtype), gradient])  # so that averaging these shows
    known = {"parts": parts, "dtype": dtype, "brought": brought, **options.pop("known", {})}
    return Case(level, world_size, [(spec, *more) for spec in specs], known=known, **options)


def dictionary(case: Case, values: dict[str, np.ndarray], **notes) -> dict:
    """The report of one rank by a harness: the gradient of each parameter, zeros for those that are not trained, and
    `notes`."""
    found = {}
    for part in case.known["parts"]:
        if part.kind != "buffer" and not part.kind.startswith("tied"):
            found[part.name] = Tensor(np.asarray(values.get(part.name, np.zeros(part.shape))), case.known["dtype"])
    return {**found, **notes}


def weighted(case: Case, weights: np.ndarray, **notes) -> list[dict]:
    """The ranks' gradients if rank r holds the sum of weights[r][q] times what rank q brought."""
    brought = case.known["brought"]
    return [
        dictionary(
            case,
            {name: sum(w * g for w, g in zip(row, per_rank, strict=True)) for name, per_rank in brought.items()},
            **notes,
        )
        for row in np.asarray(weights, dtype=np.float64)
    ]


def weights_in(value: np.ndarray, contributions_: list[np.ndarray]) -> np.ndarray | None:
    """The weights, shape (p,), with which `value` is made of the p contributions; None where it is not, or not
    uniquely."""
    columns = np.stack([np.asarray(c, dtype=np.float64).ravel() for c in contributions_], axis=1)
    scale = np.abs(columns).max(axis=0)
    there = scale > 0
    value = np.asarray(value, dtype=np.float64).ravel()
    if not there.any() or not np.isfinite(value).all():
        return None
    found, _, rank, _ = np.linalg.lstsq(columns[:, there] / scale[there], value, rcond=None)
    rest = columns[:, there] / scale[there] @ found - value
    if rank < there.sum() or np.abs(rest).max() > 1e-5 * max(np.abs(value).max(), 1e-12):
        return None
    weights = np.zeros(len(contributions_))
    weights[there] = found / scale[there]
    weights[np.abs(weights) < 1e-6 * np.abs(weights).max(initial=0)] = 0
    return weights


def name_of(weights: np.ndarray, right: np.ndarray) -> tuple[str, str] | None:
    """(diagnosis, detail) for the weights each rank's result is made with, shape (ranks, p). right: those of the mean,
    shape (p,).

    None: they are right. A rank that brought nothing (right weight 0) is left out.
    """
    p, there = len(right), right > 0
    weights, own = weights[:, there], np.eye(p)[:, there]
    factors = weights / right[there]
    complete = np.isclose(factors, 1, rtol=1e-4).all(axis=1)
    if complete.all():
        return None
    if np.allclose(weights, own, atol=1e-6):
        return "own_only", ""
    if np.allclose(factors, factors[0, 0], rtol=1e-4):
        factor = factors[0, 0]
        for name, known in (("sum_for_mean", p), ("divided_twice", 1 / p)):
            if np.isclose(factor, known, rtol=1e-4):
                return name, ""
        return "wrong_factor", f"Every rank holds {factor:.4g} times the mean." if factor else "Every rank holds zeros."
    if complete.any():
        numbers = ", ".join(str(r) for r in np.flatnonzero(complete))
        multiples = np.allclose(factors, factors[:, :1], rtol=1e-4)
        return "divided_on_some_ranks" if multiples else "only_one_rank", f"Right on rank {numbers} only."
    if np.allclose(weights * (1 - own), 0, atol=1e-4 * np.abs(weights).max()):
        return "own_divided", ""
    shares = ", ".join(f"rank {r}: {w:.3g}" for r, w in zip(np.flatnonzero(there), weights[0], strict=True))
    detail = f"Weights in what rank 0 holds: {shares}."
    if not np.allclose(weights, weights[0], rtol=1e-5, atol=1e-9):
        return "differs_between_ranks", detail
    return "copied_from_one_rank" if np.count_nonzero(weights[0]) == 1 else "unequal_weights", detail


def reported(case: Case, run: Run) -> list[dict[str, np.ndarray]] | None:
    """The gradients that each rank reported, as arrays by name; None where something else came back."""
    found = []
    for rank in run.ranks:
        if not isinstance(rank.value, dict):
            return None
        held = {}
        for name, per_rank in case.known["brought"].items():
            value = rank.value.get(name)
            if not isinstance(value, Tensor) or np.shape(value.values) != per_rank[0].shape:
                return None
            held[name] = np.asarray(value.values, dtype=np.float64)
        found.append(held)
    return found


def late_digits_lost(case: Case, held: list[dict[str, np.ndarray]]) -> Finding | None:
    """A mean in float64 that is right to seven digits and not to twelve."""
    for name, per_rank in case.known["brought"].items():
        mean = sum(per_rank) / case.world_size
        apart = max(np.abs(values[name] - mean).max(initial=0) for values in held)
        apart /= max(np.abs(mean).max(initial=0), 1e-300)
        if case.known["dtype"] == "float64" and 10 * FULL < apart < 1e-5:
            return Finding("lost_digits", f"{name} is off by {apart:.0e} of its value.")
    return None


def _has_lost_bits(held: np.ndarray, mean: np.ndarray, world_size: int) -> bool:
    """True if these are the mean to two or three digits, and it or the sum consists of numbers that float16 or bfloat16
    has."""
    if not np.isfinite(held).all() or not np.allclose(held, mean, rtol=0.03):
        return False
    fits = (_as_float16, _as_bfloat16)
    return any(np.allclose(fit(x), x, rtol=1e-6) for fit in fits for x in (held, held * world_size))


def _as_float16(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return x.astype(np.float16).astype(np.float64)


def _as_bfloat16(x: np.ndarray) -> np.ndarray:
    """float32 with the upper half of its bits, rounded to nearest."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64) + 0x8000
    return (bits & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.float64)


def read(case: Case, run: Run) -> Finding | None:
    """Names what happened to an average over the ranks; None when it is right or unreadable."""
    held, brought, p = reported(case, run), case.known["brought"], case.world_size
    if held is None:
        return None
    telling = [name for name in brought if np.any(brought[name])] or list(brought)  # of zeros everything is a mean
    right = {n for n in telling if _all_close([values[n] for values in held], [sum(brought[n]) / p] * p)}
    own = {n for n in telling if _all_close([values[n] for values in held], brought[n])}
    if right == set(telling):
        return late_digits_lost(case, held)
    if right and own and right | own == set(telling):
        return Finding("some_left_out", f"Still as each rank brought it: {', '.join(n for n in telling if n in own)}.")
    flat_held = [np.concatenate([values[name].ravel() for name in brought]) for values in held]
    flat_brought = [np.concatenate([per_rank[r].ravel() for per_rank in brought.values()]) for r in range(p)]
    total = np.sum(flat_brought, axis=0)
    if all(_has_lost_bits(value, total / p, p) for value in flat_held):
        return Finding("half_precision")
    weights = [weights_in(value, flat_brought) for value in flat_held]
    if all(row is not None for row in weights):
        named = name_of(np.array(weights), np.full(p, 1 / p))
        return named and Finding(*named)
    if not _all_close(flat_held, flat_held[:1] * p):
        return Finding("differs_between_ranks")
    numbers = np.concatenate([total / p, total])
    if all(np.isclose(value[:, None], numbers, rtol=1e-5).any(axis=1).all() for value in flat_held):
        return Finding("wrong_place", "Some numbers stand where others belong.")
    return None


def _all_close(held: list[np.ndarray], wanted: list[np.ndarray]) -> bool:
    return all(np.allclose(h, w, rtol=1e-5, equal_nan=True) for h, w in zip(held, wanted, strict=True))


def reduced_twice(case: Case, run: Run) -> Finding | None:
    """A parameter with two names was reduced under each: the values do not show it, the number of bytes does."""
    parts, size = case.known["parts"], {"float32": 4, "float64": 8}[case.known["dtype"]]
    again = [part.kind.removeprefix("tied to ") for part in parts if part.kind.startswith("tied")]
    nbytes = {part.name: size * int(np.prod(part.shape)) for part in parts}
    twice = sum(nbytes[part.name] for part in parts if part.trained) + sum(nbytes[name] for name in again)
    for rank, rank_run in enumerate(run.ranks):
        if again and set(rank_run.collectives) - {"barrier"} == {"all_reduce"} and rank_run.collective_bytes == twice:
            detail = f"Rank {rank} reduced {', '.join(again)} twice, once under each of its names."
            return Finding("reduced_twice", detail)
    return None
