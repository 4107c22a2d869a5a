"""Right answers that stand in where a later exercise uses one that a student has not solved."""

import torch
import torch.distributed as dist


def shard(flat, rank, p):
    k = -(-len(flat) // p)
    padded = torch.cat([flat, flat.new_zeros(k * p - len(flat))])
    return padded[rank * k : (rank + 1) * k]


def unshard(part, n):
    whole = part.new_empty(len(part) * dist.get_world_size())
    dist.all_gather_single(whole, part)
    return whole[:n]
