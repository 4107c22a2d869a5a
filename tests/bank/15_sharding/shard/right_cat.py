# verdict: passed
import torch


def shard(flat, rank, p):
    k = -(-len(flat) // p)
    padded = torch.cat([flat, flat.new_zeros(k * p - len(flat))])
    return padded[rank * k : (rank + 1) * k]
