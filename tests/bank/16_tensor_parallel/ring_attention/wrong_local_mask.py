# verdict: wrong, diagnosis: mask_is_local
import torch
import torch.distributed as dist


def ring_attention(q, k, v, causal):
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    block = torch.stack([k, v])
    top = torch.full((m, 1), -torch.inf, dtype=q.dtype)
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    for step in range(p):
        if step < p - 1:
            coming = torch.empty_like(block)
            works = [dist.isend(block, (r + 1) % p), dist.irecv(coming, (r - 1) % p)]
        owner = (r - step) % p
        if True:
            scores = q @ block[0].T / q.shape[1] ** 0.5
            if causal:
                scores = scores.masked_fill(torch.ones(m, m, dtype=torch.bool).triu(1), -torch.inf)
            new = torch.maximum(top, scores.amax(1, keepdim=True))
            e, old = (scores - new).exp(), (top - new).exp()
            total, out, top = total * old + e.sum(1, keepdim=True), out * old + e @ block[1], new
        if step < p - 1:
            for work in works:
                work.wait()
            block = coming
    return out / total
