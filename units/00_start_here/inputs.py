"""Inputs for unit 00."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.case import Case


def right_neighbour(exercise):
    return st.integers(1, 9).map(lambda p: Case("any number of ranks", p, [(rank, p) for rank in range(p)]))


INPUTS = {"right_neighbour": right_neighbour}
