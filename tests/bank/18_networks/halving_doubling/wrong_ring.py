# verdict: wrong, diagnosis: too_many_messages
import torch
import torch.distributed as dist


def ring(x, ranks):
    me, p = ranks.index(dist.get_rank()), len(ranks)
    right, left = ranks[(me + 1) % p], ranks[(me - 1) % p]
    parts = list(x.tensor_split(p))
    for phase in (0, 1):
        for s in range(p - 1):
            out, into = (me - s - 1 + phase) % p, (me - s - 2 + phase) % p
            got = torch.empty_like(parts[into])
            sent = dist.isend(parts[out].clone(), right)
            dist.recv(got, left)
            sent.wait()
            if phase:
                parts[into].copy_(got)
            else:
                parts[into] += got
    return parts[me]


def halving_doubling(x):
    x = x.clone()
    if dist.get_world_size() > 1:
        ring(x, list(range(dist.get_world_size())))
    return x
