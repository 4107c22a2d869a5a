"""Right answers that stand in where a later exercise uses one that a student has not solved."""

import numpy as np


def fair_share(n, rank, world_size):
    return n * rank // world_size, n * (rank + 1) // world_size


def count_inside(x, y):
    return int(np.count_nonzero(x * x + y * y < 0.25))


def rank_rng(seed, rank, world_size):
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(world_size)[rank])


def sum_counts(comm, counts):
    total = np.empty_like(counts)
    comm.Allreduce(counts, total)
    return total
