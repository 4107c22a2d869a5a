# verdict: wrong, diagnosis: uses_collective
import torch
import torch.distributed as dist
import torch.nn.functional as F


def ring_attention(q, k, v, causal):
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    block = torch.cat([k, v], 1)
    blocks = [torch.empty_like(block) for _ in range(p)]
    dist.all_gather(blocks, block)
    keys, values = torch.cat(blocks).split(q.shape[1], 1)
    mask = torch.arange(p * m) <= torch.arange(r * m, (r + 1) * m)[:, None] if causal else None
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
