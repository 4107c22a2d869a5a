"""A function of activations that no few probes tell: their vectors are stretched, each by what lies in its direction.

A vector of a token is multiplied by 1 + SPREAD * noise * sign, feature by feature. The noise is a piecewise linear
function of the vector's direction, projected on a few axes: every point of a lattice has a random value, and between
the points of a cell these are interpolated. A factor of the whole vector, such as the number of micro-batches, changes
nothing in it, and neither does the order of tokens and messages. Vectors that differ by rounding get factors that do.
"""

from __future__ import annotations

import numpy as np

SPREAD = 0.25
AXES = 8  # of the lattice: one vector tells about nine of its points, of some ten thousand
VALUES = 1 << 16


class Noise:
    """The function for vectors of one width. seed: of all that is random in it."""

    def __init__(self, seed: list[int], width: int):
        random = np.random.default_rng(seed)
        self.width = width
        self.axes, self.shift = random.normal(size=(width, AXES)), random.uniform(size=AXES)
        self.values = random.uniform(-1, 1, VALUES)
        self.steps = random.integers(1 << 40, size=AXES)
        self.signs = random.choice([-1.0, 1.0], width) * random.uniform(0.5, 1, width)

    @np.errstate(all="ignore")  # a rank may send whatever it likes
    def __call__(self, x: np.ndarray) -> np.ndarray:
        """(..., width) -> the same, stretched."""
        rows = x.reshape(-1, self.width)
        length = np.sqrt(np.square(rows).sum(1, keepdims=True))
        place = rows / np.where(length > 0, length, 1.0) @ self.axes + self.shift
        noise = self._between(place)[:, None]
        return (rows * (1 + SPREAD * noise * self.signs)).reshape(x.shape)

    def _between(self, place: np.ndarray) -> np.ndarray:
        """The noise at places in the lattice: within a cell, from corner to corner along one axis after the other, the
        one with the largest remainder first."""
        cell = np.floor(place).astype(np.int64)
        rest = place - cell
        order = np.argsort(-rest, axis=1, kind="stable")
        sorted_rest = np.take_along_axis(rest, order, 1)
        edge = np.ones((len(rest), 1))
        weights = np.hstack([edge, sorted_rest]) - np.hstack([sorted_rest, 0 * edge])
        corner = (cell @ self.steps)[:, None] + np.hstack([0 * cell[:, :1], np.cumsum(self.steps[order], axis=1)])
        return (weights * self.values[corner % VALUES]).sum(1)


__all__ = ["Noise"]
