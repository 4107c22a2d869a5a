"""Inputs for unit 16."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.exercises.readings.divided import mlp_case
from autograder.inputs.common import SEEDS
from autograder.inputs.generator import EdgeGenerator
from autograder.inputs.strategies import SHARES

DRAWN = st.builds(EdgeGenerator, SEEDS, st.sampled_from(SHARES))
FEW_RANKS = st.integers(1, 4)
SIZE = st.integers(1, 5)


def column_linear(exercise):
    """Columns that divide, and columns that do not, of which there may be fewer than ranks."""
    even, odd = exercise.levels

    def sizes(p):
        return st.tuples(st.just(p), SIZE, SIZE, st.integers(1, 3 * p))

    def case(rng, drawn):
        p, n, d, h = drawn
        return exercise._case(rng, odd if h % p else even, p, n, d, h)

    return st.builds(case, DRAWN, FEW_RANKS.flatmap(sizes))


def row_linear(exercise):
    def sizes(p):
        return st.tuples(st.just(p), SIZE, st.integers(p, 4 * p), SIZE)

    def case(rng, level, drawn):
        return exercise._case(rng, level, *drawn)

    return st.builds(case, DRAWN, st.sampled_from(list(exercise.levels)), FEW_RANKS.flatmap(sizes))


def tp_mlp(exercise):
    return _mlp(exercise, rows=False)


def sequence_parallel_mlp(exercise):
    return _mlp(exercise, rows=True)


def _mlp(exercise, rows):
    def case(rng, level, p, n, d, inner):
        return mlp_case(rng, level, p, n * p if rows else n, d, inner * p, rows=rows)

    tokens, inner = st.integers(1, 3), st.integers(1, 3)
    return st.builds(case, DRAWN, st.sampled_from(list(exercise.levels)), FEW_RANKS, tokens, SIZE, inner)


def head_attention(exercise):
    """Ranks with whole heads, and with such as are no whole ones; scores far below zero, too."""
    even, odd = exercise.levels

    def case(rng, p, s, rows, size, far_below):
        level, width = odd if rows % size else even, p * rows
        return exercise._case(rng, level, p, s, width // size, size, far_below, width)

    whole = st.tuples(st.integers(1, 4), st.integers(1, 3)).map(lambda drawn: (drawn[0] * drawn[1], drawn[0]))
    sizes = whole | st.tuples(st.integers(1, 8), st.integers(1, 5))
    return st.builds(lambda rng, p, s, of, far: case(rng, p, s, *of, far), DRAWN, FEW_RANKS, SIZE, sizes, st.booleans())


def split_conv(exercise):
    """As many channels on every rank, and rows of which some ranks have k // 2 alone."""
    out, inside, rows = exercise.levels

    def case(rng, level, p, images, channels, height, width, outputs, k):
        if level == rows:
            height = max(height, p * (k // 2))
        else:
            height = max(1, height - 2 * p)
        shape = (images, channels * p if level == inside else channels, height, width)
        return exercise._case(rng, level, p, shape, outputs * p if level == out else outputs, k)

    few = st.integers(1, 2)
    return st.builds(
        case, DRAWN, st.sampled_from([out, inside, rows]), st.integers(2, 4), few, few, st.integers(2, 12), SIZE, few,
        st.sampled_from([3, 5, 7]),
    )  # fmt: skip


def vocab_cross_entropy(exercise):
    """Shares of any width, none for some ranks; logits and rows far from zero."""
    equal, large, any_size = exercise.levels

    def case(rng, n, widths, size, rows):
        level = equal if len(set(widths)) == 1 else any_size
        return exercise._case(rng, large if size > 1e3 and level == equal else level, n, widths, size, rows)

    widths = st.lists(st.integers(0, 9), min_size=1, max_size=4)
    widths = widths.filter(lambda found: found[0] >= 2 and (len(found) == 1 or sum(found[1:]) >= 2))
    return st.builds(
        case, DRAWN, st.integers(2, 8), widths, st.sampled_from([0.0, 1.0, 5.0]), st.sampled_from([0.0, 1e4])
    )


def ring_attention(exercise):
    free, causal, large = exercise.levels

    def case(rng, level, p, tokens, d, size, against, causal):
        size = size if level == large else 1.0
        against = against and level == large
        return exercise._case(rng, level, p, p * tokens, d, size=size, against=against, causal=causal or level != large)

    return st.builds(
        case, DRAWN, st.sampled_from([free, causal, large]), FEW_RANKS, st.integers(1, 3), st.integers(1, 3),
        st.sampled_from([8.0, 60.0]), st.booleans(), st.booleans(),
    )  # fmt: skip


INPUTS = {
    "column_linear": column_linear,
    "row_linear": row_linear,
    "tp_mlp": tp_mlp,
    "sequence_parallel_mlp": sequence_parallel_mlp,
    "head_attention": head_attention,
    "split_conv": split_conv,
    "vocab_cross_entropy": vocab_cross_entropy,
    "ring_attention": ring_attention,
}
