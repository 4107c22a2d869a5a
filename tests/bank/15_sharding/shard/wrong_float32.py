# verdict: wrong, diagnosis: wrong_dtype
import torch


def shard(flat, rank, p):
    k = -(-len(flat) // p)
    padded = torch.zeros(k * p)
    padded[: len(flat)] = flat
    return padded[rank * k : (rank + 1) * k]
