"""Numbers out of files that students wrote: JSON and TOML hold whole numbers that no float can take in."""

from __future__ import annotations

import math
from typing import Any

MOST = 1e15  # points, seconds and sizes are less; beyond it a float does not hold every half any more


def is_finite(value: Any) -> bool:
    """True for a number to compute with and to print: an int or a float, no bool, finite and smaller than `MOST` on
    either side of 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -MOST < value < MOST and not math.isnan(value)


__all__ = ["MOST", "is_finite"]
