"""Right answers that stand in where a later exercise uses one that a student has not solved."""


def strided_share(n, rank, world_size):
    return list(range(rank, n, world_size))
