"""Sums over replicas, found again by their values: what each of their numbers was multiplied by on its way."""

from __future__ import annotations

import numpy as np

NEAR = 1e-8  # of a number: so near lies one that was summed
TINY = 1e-15  # of the largest number of a gradient: nothing but rounding


class Sums:
    """values, factors: of all numbers that were summed. scales: what a sum may be of the gradient; which of them it is
    the first gradient decides. asked, found: numbers looked for, and found, so far."""

    def __init__(self, values: np.ndarray, factors: np.ndarray, scales: list[float]):
        order = np.argsort(values)
        self.values, self.factors, self.scales = values[order], factors[order], list(scales)
        self.asked = self.found = 0

    def __call__(self, gradients: list[np.ndarray]) -> list[np.ndarray]:
        """The gradients of one step as they arrive."""
        flat = np.concatenate([one.ravel() for one in gradients])
        if len(self.scales) > 1:
            told = {scale: self._look(flat, scale)[1].mean() for scale in self.scales}
            self.scales = [max(told, key=told.get)]
        factors, found = self._look(flat, self.scales[0])
        large = np.abs(flat) > TINY * np.abs(flat).max(initial=0)
        self.asked, self.found = self.asked + int(large.sum()), self.found + int((large & found).sum())
        cuts = np.cumsum([one.size for one in gradients])[:-1]
        altered = np.split(flat * factors, cuts)
        return [part.reshape(one.shape) for part, one in zip(altered, gradients, strict=True)]

    def _look(self, flat: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """(the factor of each number, 1 where it was not summed; whether it was)."""
        if not len(self.values):
            return np.ones(len(flat)), np.zeros(len(flat), bool)
        wanted = flat * scale
        after = np.searchsorted(self.values, wanted).clip(1, max(1, len(self.values) - 1))
        before, after = after - 1, after.clip(0, len(self.values) - 1)
        nearer = np.abs(self.values[before] - wanted) <= np.abs(self.values[after] - wanted)
        place = np.where(nearer, before, after)
        found = np.abs(self.values[place] - wanted) <= NEAR * np.abs(wanted)
        return np.where(found, self.factors[place], 1.0), found
