"""Inputs for unit 05."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from autograder.case import Case, Tensor
from autograder.exercises.readings.gradients import Part, gradient_case
from autograder.registry import module_of

UNIT = module_of("05_gradient_all_reduce")
RANKS = st.integers(1, 5)
SHAPES = st.lists(st.integers(1, 4), max_size=3).map(tuple)
DTYPES = st.sampled_from(["float32", "float64"])


def generators() -> st.SearchStrategy[np.random.Generator]:
    return st.integers(0, 2**31).map(np.random.default_rng)


def models(p: int, kinds: list[str], most: int = 5) -> st.SearchStrategy[list[Part]]:
    """Parts of a model on p ranks, the first of them trained. A gradient may be missing on any ranks; a frozen, tied
    or turned one stands where it may."""
    ranks = st.sets(st.integers(0, p - 1)).map(lambda some: tuple(sorted(some)))
    parts = st.lists(st.tuples(SHAPES, st.sampled_from(kinds), ranks), min_size=1, max_size=most)
    return parts.map(_named)


def _named(drawn) -> list[Part]:
    found = []
    for k, (shape, kind, absent) in enumerate(drawn):
        name = f"layer{k}.weight"
        if k == 0 or kind == "parameter":
            found.append(Part(name, shape, absent=absent))
        elif kind == "tied":
            found.append(Part(name, found[0].shape, f"tied to {found[0].name}"))
        elif kind == "transposed":
            found.append(Part(name, (3, 2), kind, absent))
        elif kind == "turned":
            found.append(Part(name, (2, 3), turned=absent))
        else:
            found.append(Part(name, shape, kind))
    return found


def gradients_of(exercise):
    kinds = ["parameter", "parameter", "frozen", "tied", "buffer"]
    if exercise.function == "average_gradients_flat":  # elsewhere gradients are contiguous
        kinds += ["transposed", "turned"]

    def on(p):
        return st.builds(
            lambda rng, parts, dtype: gradient_case(rng, next(iter(exercise.levels)), p, parts, dtype, says="a model"),
            generators(),
            models(p, kinds),
            DTYPES,
        )

    return RANKS.flatmap(on)


def broadcast_parameters(exercise):
    kinds = ["parameter", "frozen", "buffer", "passing", "none"]
    further = [[], [Part("norm.num_batches_tracked", (), "buffer")], [Part("causal", (4,), "buffer")]]

    def named(parts, more):
        return [*(Part(part.name, part.shape, part.kind) for part in parts), *more]

    def on(p):
        return st.builds(
            lambda rng, parts, more, dtype: exercise._case(
                rng, next(iter(exercise.levels)), p, named(parts, more), dtype
            ),
            generators(),
            models(p, kinds),
            st.sampled_from(further),
            DTYPES,
        )

    return RANKS.flatmap(on)


def average_and_clip(exercise):
    """Norms below, above and far from max_norm, which may be 0 or infinite; gradients of zeros."""
    shares = st.sampled_from([0.0, 1e-6, 0.5, 0.999, 1.001, 3.0, math.inf])

    def case(rng, p, parts, share, dtype):
        unlimited = gradient_case(rng, next(iter(exercise.levels)), p, parts, dtype)
        norm = UNIT.norm_of(exercise.worked(unlimited).means.values())
        limit = share if share in (0.0, math.inf) else share * norm
        rtol = 1e-5 if dtype == "float32" else 1e-6 if share < 1 else None
        return UNIT.limited(unlimited, limit, f"max_norm {limit:g}", rtol)

    def on(p):
        return st.builds(case, generators(), st.just(p), models(p, ["parameter", "frozen", "tied"]), shares, DTYPES)

    return RANKS.flatmap(on)


def global_metrics(exercise):
    """Losses of 0 and of very different sizes; ranks without samples."""
    losses = st.sampled_from([0.0, 2.0**-20, 0.25, 1.5, 3.0, 1e4]) | st.floats(2.0**-10, 100, width=32)
    shares = st.lists(st.lists(st.tuples(losses, st.booleans()), max_size=6), min_size=1, max_size=5)

    def case(shares):
        losses = [np.array([loss for loss, _ in share], np.float32) for share in shares]
        correct = [np.array([hit for _, hit in share], bool) for share in shares]
        arguments = [(Tensor(x, "float32"), Tensor(c, "bool")) for x, c in zip(losses, correct, strict=True)]
        losses = [np.float64(x) for x in losses]
        known = {"losses": losses, "correct": correct, "counts": tuple(map(len, shares))}
        return Case(next(iter(exercise.levels)), len(shares), arguments, "losses", known, rtol=1e-5)

    return shares.filter(any).map(case)


def train_step(exercise):
    def steps(p):
        return st.lists(st.lists(st.integers(0, 4), min_size=p, max_size=p).filter(any), min_size=2, max_size=2)

    counts, rows = RANKS.flatmap(steps), st.sampled_from([(), (), (1,), (3,)])
    return st.builds(
        lambda rng, counts, *others: exercise._case(rng, next(iter(exercise.levels)), counts, *others),
        *(generators(), counts, DTYPES, rows, st.booleans()),
    )


INPUTS = {
    "broadcast_parameters": broadcast_parameters,
    "average_gradients": gradients_of,
    "average_gradients_flat": gradients_of,
    "global_metrics": global_metrics,
    "train_step": train_step,
    "average_and_clip": average_and_clip,
}
