# verdict: passed
# differs: `scaled_dot_product_attention` does the masking and the softmax for all heads of this rank at once.
import torch.distributed as dist
import torch.nn.functional as F


def head_attention(x, q, k, v, out, head_size):
    if len(q) % head_size != 0:
        raise ValueError("heads do not divide")
    q, k, v = (F.linear(x, w).view(len(x), -1, head_size).movedim(1, 0) for w in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = F.linear(mixed.movedim(0, 1).reshape(len(x), -1), out)
    dist.all_reduce(y)
    return y
