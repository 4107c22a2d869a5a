# verdict: passed
# differs: It keeps the blocks that pass by and takes one softmax at the end: simple, and the memory that the running way saves is spent.
import torch
import torch.distributed as dist
import torch.nn.functional as F


def ring_attention(q, k, v, causal):
    """The blocks come by one after the other and are kept, so that one softmax does at the end."""
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    blocks = {r: torch.cat([k, v], 1)}
    for step in range(1, p):
        coming = torch.empty_like(blocks[r])
        sent = dist.isend(blocks[(r - step + 1) % p], (r + 1) % p)
        dist.recv(coming, (r - 1) % p)
        sent.wait()
        blocks[(r - step) % p] = coming
    keys, values = torch.cat([blocks[s] for s in range(p)]).split(q.shape[1], 1)
    mask = torch.arange(p * m) <= torch.arange(r * m, (r + 1) * m)[:, None] if causal else None
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
