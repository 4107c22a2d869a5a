"""Inputs for unit 10."""

from __future__ import annotations

import copy
import math

from hypothesis import strategies as st

from autograder.inputs.common import COUNTS, SEEDS, SMALL, late_ranks
from autograder.inputs.generator import EdgeGenerator
from autograder.inputs.strategies import SHARES, plain_cases

DRAWN = st.builds(EdgeGenerator, SEEDS, st.sampled_from(SHARES))
FEW_RANKS = st.integers(1, 5)


def device_batches(exercise):
    return plain_cases(exercise, kind=st.sampled_from(["DataParallel", "DDP"]), batch_size=COUNTS, devices=SMALL)


def dynamic_scale(exercise):
    starts = st.sampled_from([1.0, 2.0, 3.0, 65536.0, 2.0**24, 2.0**60])
    found = st.lists(st.booleans(), max_size=20)
    return plain_cases(exercise, found_inf=found, start=starts, growth_interval=st.integers(1, 4))


def data_parallel_step(exercise):
    level = st.just(next(iter(exercise.levels)))
    return st.builds(exercise._case, DRAWN, level, FEW_RANKS, st.integers(1, 11), st.booleans())


def scaled_step(exercise):
    """Gradients below, within and above what float16 holds, alone and with a NaN; norms on both sides of max_norm."""
    low, width = st.integers(-30, 4), st.integers(1, 8)
    powers = st.sampled_from([1.0, 2.0, 1000.0, 2.0**10, 2.0**16, 2.0**24])
    norms = st.sampled_from([math.inf, 1e-4, 0.25, 0.75, 64.0])
    odd = st.sampled_from([{}, {"overflow": 2}, {"nan": True}, {"table": True}])

    def case(rng, low, width, scale, lr, norm, odd):
        return exercise._case(rng, next(iter(exercise.levels)), low, low + width, scale, lr, norm, **odd)

    return st.builds(case, DRAWN, low, width, powers, st.sampled_from([0.125, 1.0, 2.0]), norms, odd)


def found_inf_anywhere(exercise):
    """Any odd number on any ranks, and ranks without gradients, with or without an odd number on another."""
    odd = st.sampled_from([math.inf, -math.inf, math.nan])
    level, large = next(iter(exercise.levels)), st.sampled_from([(), (5e4, 6e4)])

    @st.composite
    def case(draw):
        p = draw(FEW_RANKS)
        some, ranks = st.dictionaries(st.integers(0, p - 1), odd, max_size=p), st.sets(st.integers(0, p - 1))
        options = {"dtype": draw(st.sampled_from(["float32", "float16"])), "n": draw(st.integers(1, 9))}
        options |= {"large": draw(large), "empty": tuple(draw(ranks)), "late": draw(late_ranks(p))}
        return exercise._case(draw(DRAWN), level, p, draw(some), **options)

    return case()


def evaluate(exercise):
    """Shards of all sizes, some of them empty; with a root and without."""
    whole, _, root = exercise.levels
    some = st.lists(COUNTS | st.just(20_000_003), min_size=1, max_size=5).filter(any).map(tuple)

    def with_root(counts):
        return st.builds(exercise._case, DRAWN, st.just(root), st.just(counts), st.integers(0, len(counts) - 1))

    return st.builds(exercise._case, DRAWN, st.just(whole), some) | some.flatmap(with_root)


def evaluate_padded(exercise):
    level = st.just(next(iter(exercise.levels)))
    return st.builds(_any_values(exercise)._case, DRAWN, level, FEW_RANKS, st.integers(1, 14), st.just(()))


def macro_f1(exercise):
    """Ranks without samples, one class only, classes that nobody has and classes that are only predicted."""
    level, twin = next(iter(exercise.levels)), _any_values(exercise)
    some = st.lists(st.sampled_from([0, 1, 2, 3, 30]), min_size=1, max_size=4).map(tuple)

    @st.composite
    def case(draw):
        classes = draw(st.integers(1, 5))
        kinds = draw(st.lists(st.integers(0, 2), min_size=classes - 1, max_size=classes - 1))  # the last one is there
        absent, unlabelled = (tuple(k for k, kind in enumerate(kinds) if kind == which) for which in (1, 2))
        return twin._case(draw(DRAWN), level, draw(some), classes, absent, (), unlabelled)

    return case()


def _any_values(exercise):
    """The exercise, content with a case in which mistakes cannot be told apart."""
    twin = copy.copy(exercise)
    twin._telling = lambda case: True
    return twin


INPUTS = {
    "device_batches": device_batches,
    "dynamic_scale": dynamic_scale,
    "data_parallel_step": data_parallel_step,
    "scaled_step": scaled_step,
    "found_inf_anywhere": found_inf_anywhere,
    "evaluate": evaluate,
    "evaluate_padded": evaluate_padded,
    "macro_f1": macro_f1,
}
