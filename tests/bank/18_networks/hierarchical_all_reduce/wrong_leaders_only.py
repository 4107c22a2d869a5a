# verdict: wrong, diagnosis: only_one_of_a_node
import torch
import torch.distributed as dist


def ring(x, ranks, first):
    me, p = ranks.index(dist.get_rank()), len(ranks)
    right, left = ranks[(me + 1) % p], ranks[(me - 1) % p]
    parts = list(x.tensor_split(p))
    for phase in first:
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


def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    x = x.clone()
    if r % g:
        dist.send(x, r // g * g)
        return x
    got = torch.empty_like(x)
    for i in range(1, g):
        dist.recv(got, r + i)
        x += got
    ring(x, list(range(0, p, g)), [0, 1])
    return x
