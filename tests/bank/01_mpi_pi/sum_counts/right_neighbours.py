# verdict: passed
import numpy as np


def sum_counts(comm, counts):
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    everybody = comm.Create_dist_graph_adjacent(others, others)
    got = np.empty((len(others), *counts.shape), counts.dtype)
    everybody.Neighbor_allgather(np.ascontiguousarray(counts), got)
    return counts + got.sum(axis=0, dtype=counts.dtype)
