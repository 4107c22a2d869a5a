"""Strategies that units share."""

from __future__ import annotations

from hypothesis import strategies as st

RANKS = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 11])
COUNTS = st.integers(0, 40) | st.sampled_from([0, 1, 2, 3])
SMALL = st.integers(1, 12)
SECONDS = st.sampled_from([0.001, 0.01, 0.1, 0.25, 1.0, 2.0, 7.5]) | st.floats(1e-4, 1e3)
SEEDS = st.integers(0, 2**20)


def shapes(most: int = 4, axes: tuple[int, int] = (1, 4)) -> st.SearchStrategy[tuple[int, ...]]:
    """Lengths of a mesh's axes, 1 to `most` each."""
    return st.lists(st.integers(1, most), min_size=axes[0], max_size=axes[1]).map(tuple)


def late_ranks(p: int) -> st.SearchStrategy[tuple[int, ...]]:
    """The ranks of p that start late: none, or one."""
    return st.just(()) | st.integers(0, p - 1).map(lambda rank: (rank,))
