# verdict: wrong, diagnosis: too_many_bytes
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
    parts = [shard.new_empty(edges(n, old, r)[1] - edges(n, old, r)[0]) for r in range(p)]
    if rank:
        if len(shard):
            dist.send(shard, 0)
        low, high = edges(n, new, rank)
        mine = shard.new_empty(high - low)
        if high > low:
            dist.recv(mine, 0)
        return mine
    for r in range(1, p):
        if len(parts[r]):
            dist.recv(parts[r], r)
    parts[0] = shard
    whole = torch.cat(parts)
    for r in range(1, p):
        low, high = edges(n, new, r)
        if high > low:
            dist.send(whole[low:high].clone(), r)
    return whole[: edges(n, new, 0)[1]].clone()
