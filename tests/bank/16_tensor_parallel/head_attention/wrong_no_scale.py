# verdict: wrong, diagnosis: no_scale
import torch
import torch.distributed as dist


def head_attention(x, q, k, v, out, head_size):
    if q.shape[0] % head_size:
        raise ValueError(f"{q.shape[0]} rows are no whole heads of {head_size}")
    q, k, v = ((x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
    scores = q @ k.transpose(-2, -1)
    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
    y = mixed.transpose(0, 1).flatten(1) @ out.T
    dist.all_reduce(y)
    return y
