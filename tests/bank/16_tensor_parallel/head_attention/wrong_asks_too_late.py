# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist
import torch.nn.functional as F


def head_attention(x, q, k, v, out, head_size):
    rows = torch.tensor([q.shape[0]])
    dist.all_reduce(rows)
    if q.shape[0] % head_size:
        raise ValueError("heads do not divide")
    q, k, v = ((x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = mixed.transpose(0, 1).flatten(1) @ out.T
    dist.all_reduce(y)
    return y
