# verdict: wrong, diagnosis: too_much_between
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
    n = p // g
    mine = list(range(r % n, p, n))
    across = [r // n * n + i for i in range(n)]
    part = ring(x, mine, [0])
    ring(part, across, [0, 1])
    ring(x, mine, [1])
    return x
