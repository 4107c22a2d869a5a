# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist
import torch.nn.functional as F


def gathered(t):
    parts = [torch.empty_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, t.contiguous())
    return torch.cat(parts, -1)


def head_attention(x, q, k, v, out, head_size):
    if q.shape[0] % head_size:
        raise ValueError("heads do not divide")
    q, k, v = (gathered(x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return mixed.transpose(0, 1).flatten(1) @ gathered(out).T
