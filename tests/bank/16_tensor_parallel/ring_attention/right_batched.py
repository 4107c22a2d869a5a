# verdict: passed
import math

import torch
import torch.distributed as dist


def ring_attention(q, k, v, causal):
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    sums, weights, top = torch.zeros_like(q), torch.zeros(m, dtype=q.dtype), torch.full((m,), -1e300, dtype=q.dtype)
    here = torch.cat([k, v])
    for step in range(p):
        s = (r - step) % p
        z = q @ here[:m].T / math.sqrt(q.shape[1])
        if causal:
            z[torch.arange(s * m, s * m + m)[None, :] > torch.arange(r * m, r * m + m)[:, None]] = -torch.inf
        new = torch.maximum(top, z.max(1).values)
        e = torch.exp(z - new[:, None])
        sums = sums * torch.exp(top - new)[:, None] + e @ here[m:]
        weights = weights * torch.exp(top - new) + e.sum(1)
        top = new
        if step + 1 < p:
            after = torch.zeros_like(here)
            ops = [dist.P2POp(dist.isend, here, (r + 1) % p), dist.P2POp(dist.irecv, after, (r - 1) % p)]
            for work in dist.batch_isend_irecv(ops):
                work.wait()
            here = after
    return sums / weights[:, None]
