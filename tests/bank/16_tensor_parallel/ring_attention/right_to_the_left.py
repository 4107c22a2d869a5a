# verdict: passed
import math

import torch
import torch.distributed as dist


def ring_attention(q, k, v, causal):
    p, r, m = dist.get_world_size(), dist.get_rank(), len(q)
    places = torch.arange(r * m, (r + 1) * m)[:, None]
    results, logs = [], []
    for step in range(p):
        owner = (r + step) % p
        scores = q @ k.T / math.sqrt(q.size(1))
        if causal:
            scores = scores.masked_fill(torch.arange(owner * m, (owner + 1) * m) > places, -torch.inf)
        log = scores.logsumexp(1, keepdim=True)
        results.append((scores - log.clamp(min=-1e300)).exp() @ v)
        logs.append(log)
        if step + 1 < p:
            received = torch.empty_like(k), torch.empty_like(v)
            works = [dist.isend(k, (r - 1) % p), dist.isend(v, (r - 1) % p)]
            works += [dist.irecv(t, (r + 1) % p) for t in received]
            for work in works:
                work.wait()
            k, v = received
    weights = torch.cat(logs, 1).softmax(1)
    return sum(weight[:, None] * result for weight, result in zip(weights.T, results))
