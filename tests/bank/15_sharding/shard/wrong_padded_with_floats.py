# verdict: wrong, diagnosis: wrong_dtype
import torch


def shard(flat, rank, p):
    k = -(-len(flat) // p)
    mine = flat[rank * k : (rank + 1) * k]
    return torch.cat([mine, torch.zeros(k - len(mine))])
