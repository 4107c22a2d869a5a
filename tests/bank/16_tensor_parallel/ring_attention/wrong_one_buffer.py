# verdict: wrong, diagnosis: reused_buffer
import torch
import torch.distributed as dist


def ring_attention(q, k, v, causal):
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    block = torch.stack([k, v])
    top = torch.full((m, 1), -torch.inf, dtype=q.dtype)
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    for step in range(p):
        owner = (r - step) % p
        if step < p - 1:
            works = [dist.isend(block, (r + 1) % p), dist.irecv(block, (r - 1) % p)]
        if not causal or owner <= r:
            scores = q @ block[0].T / q.shape[1] ** 0.5
            if causal and owner == r:
                scores = scores.masked_fill(torch.ones(m, m, dtype=torch.bool).triu(1), -torch.inf)
            new = torch.maximum(top, scores.amax(1, keepdim=True))
            e, old = (scores - new).exp(), (top - new).exp()
            total, out, top = total * old + e.sum(1, keepdim=True), out * old + e @ block[1], new
        if step < p - 1:
            for work in works:
                work.wait()
    return out / total
