# verdict: wrong, diagnosis: padded_in_front
import torch


def shard(flat, rank, p):
    k = -(-len(flat) // p)
    padded = torch.cat([flat.new_zeros(k * p - len(flat)), flat])
    return padded[rank * k : (rank + 1) * k]
