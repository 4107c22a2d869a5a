# verdict: wrong, diagnosis: the_whole
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
    largest = n // old + 1
    padded = shard.new_zeros(largest)
    padded[: len(shard)] = shard
    parts = [torch.empty_like(padded) for _ in range(p)]
    dist.all_gather(parts, padded)
    whole = torch.cat([part[: edges(n, old, r)[1] - edges(n, old, r)[0]] for r, part in enumerate(parts)])
    return whole
