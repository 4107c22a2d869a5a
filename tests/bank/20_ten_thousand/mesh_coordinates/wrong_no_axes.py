# verdict: raised, diagnosis: TypeError
import functools
import operator


def mesh_coordinates(rank, shape):
    if rank not in range(functools.reduce(operator.mul, shape)):
        raise ValueError(f"no rank {rank}")
    found = []
    for length in reversed(shape):
        rank, place = divmod(rank, length)
        found.insert(0, place)
    return tuple(found)
