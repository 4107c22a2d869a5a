# verdict: wrong, diagnosis: wrong_order
import torch.distributed as dist
import torch.nn.functional as F


def head_attention(x, q, k, v, out, head_size):
    if q.shape[0] % head_size:
        raise ValueError("heads do not divide")
    q, k, v = ((x @ w.T).unflatten(-1, (head_size, -1)).permute(2, 0, 1) for w in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = mixed.permute(1, 2, 0).flatten(1) @ out.T
    dist.all_reduce(y)
    return y
