# verdict: wrong, diagnosis: takes_anything
import itertools
import math


def mesh_coordinates(rank, shape):
    """-1 is refused; but a list counts other negative places from its end, too."""
    if rank == -1 or rank >= math.prod(shape):
        raise ValueError(f"there is no rank {rank}")
    return list(itertools.product(*map(range, shape)))[rank]
