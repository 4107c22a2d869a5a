# verdict: wrong, diagnosis: padded_by_one_too_many
import torch


def shard(flat, rank, p):
    k = max(1, -(-len(flat) // p))
    out = torch.zeros(k, dtype=flat.dtype)
    part = flat[rank * k : (rank + 1) * k]
    out[: len(part)] = part
    return out
