# verdict: passed
import torch
import torch.distributed as dist


def edges(n, p, r):
    low = r * (n // p) + min(r, n % p)
    return (low, low + n // p + (r < n % p)) if r < p else (n, n)


def overlap(n, old, new, a, b):
    (i, j), (k, l) = edges(n, old, a), edges(n, new, b)
    return max(i, k), max(min(j, l), max(i, k))


def reshard(shard, n, old, new):
    rank, p = dist.get_rank(), dist.get_world_size()
    begin = edges(n, old, rank)[0]
    works, parts = [], []
    for other in range(p):
        i, j = overlap(n, old, new, other, rank)
        part = shard.new_empty(j - i)
        if other == rank:
            part.copy_(shard[i - begin : j - begin])
        elif i < j:
            works.append(dist.P2POp(dist.irecv, part, other))
        parts.append(part)
        i, j = overlap(n, old, new, rank, other)
        if i < j and other != rank:
            works.append(dist.P2POp(dist.isend, shard[i - begin : j - begin], other))
    for work in dist.batch_isend_irecv(works) if works else []:
        work.wait()
    return torch.cat(parts)
