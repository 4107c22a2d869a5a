"""Common to figures of accuracy and of scaling: curves that show no measurement, axes that count logarithms."""

from __future__ import annotations

import math
import re

from autograder.homework.mnist_rubric import MORE_SIZES, SIZES

NOT_MEASURED = (  # names of curves that stand beside a measurement
    r"ideal|perfect|\blinear|theor|optimum|optimal|amdahl|gustafson|\bmodel|\bfit\b|fitted|trend|expected|erwart|"
    r"extrapol|\btarget|referen|"
    r"\bupper|\blower|\bbound|interval|confiden|\bci\b|limit"
)


LOGARITHM = re.compile(r"\blog|\bln\b|logarithm", re.IGNORECASE)
BASES = (2.0, 10.0, math.e)
READING = 0.03  # of a value: an x that is closer to a number of ranks is that number


def ranks_at(panel, x):
    """The numbers of ranks at these x; where the axis's label says that it counts their logarithms, undone."""
    if panel.x.scale != "linear" or not LOGARITHM.search(panel.x.label) or not len(x):
        return x
    for base in BASES:
        ranks = base**x
        if all(any(abs(rank / p - 1) < READING for p in (*SIZES, *MORE_SIZES)) for rank in ranks):
            return ranks
    return x
