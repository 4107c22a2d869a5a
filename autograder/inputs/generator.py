"""A random generator with a preference for edges."""

from __future__ import annotations

import numpy as np

CALM_AFTER = 400  # calls; from then on plain values, so that a loop that draws until something fits comes to an end


class EdgeGenerator(np.random.Generator):
    """A `np.random.Generator` that returns the edges of what was asked for more often than chance would.

    Edges: both ends of a range of integers, the lower end of an interval, zeros of both signs, equal entries, a
    permutation that changes nothing or turns the order round.
    """

    def __init__(self, seed: int, share: float = 0.3):
        """share: of the values that are edges; 0: an ordinary generator."""
        super().__init__(np.random.PCG64(seed))
        self._dice = np.random.default_rng([seed, 1])
        self._share, self._calls = share, 0

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        drawn = super().integers(low, high, size, dtype, endpoint)
        first, end = (0, low) if high is None else (low, high)
        return self._with(drawn, [first, end if endpoint else np.asarray(end) - 1])

    def uniform(self, low=0.0, high=1.0, size=None):
        drawn = super().uniform(low, high, size)
        has_zero = np.all(np.less_equal(low, 0)) and np.all(np.greater(high, 0))
        return self._with(drawn, [low, 0.0] if has_zero else [low])

    def normal(self, loc=0.0, scale=1.0, size=None):
        return self._with(super().normal(loc, scale, size), [loc, 0.0, -0.0])

    def standard_normal(self, size=None, dtype=np.float64, out=None):
        return self._with(super().standard_normal(size, dtype, out), [0.0, -0.0])

    def random(self, size=None, dtype=np.float64, out=None):
        return self._with(super().random(size, dtype, out), [0.0])

    def permutation(self, x, axis=0):
        drawn = super().permutation(x, axis)
        in_order = np.arange(x) if isinstance(x, (int, np.integer)) else np.asarray(x)
        luck = self._dice.random()
        if not self._likes_edges() or luck > self._share:
            return drawn
        return in_order.copy() if luck < self._share / 2 else np.flip(in_order, axis).copy()

    def _likes_edges(self) -> bool:
        self._calls += 1
        return self._calls <= CALM_AFTER

    def _with(self, drawn, edges: list):
        """The drawn values, some of them replaced by edges or by another entry."""
        if not self._likes_edges():
            return drawn
        values = np.array(drawn)
        shape = values.shape
        chosen = self._dice.integers(len(edges) + 1, size=shape)
        replaced = self._dice.random(shape) < self._share
        for k, edge in enumerate(edges):
            values = np.where(replaced & (chosen == k), np.asarray(edge, dtype=values.dtype), values)
        if values.size > 1:
            others = values.reshape(-1)[self._dice.integers(values.size, size=shape)]
            values = np.where(replaced & (chosen == len(edges)), others, values)
        return values if isinstance(drawn, np.ndarray) else type(drawn)(values)
