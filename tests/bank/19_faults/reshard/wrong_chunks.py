# verdict: wrong, diagnosis: equal_shares
import torch
import torch.distributed as dist


def edges(n, p, r):
    low = r * (n // p) + min(r, n % p)
    return (low, low + n // p + (r < n % p)) if r < p else (n, n)


def new_edges(n, p, r):
    share = -(-n // p)
    return min(n, min(r, p) * share), min(n, min(r + 1, p) * share)


def overlap(n, old, new, a, b):
    (i, j), (k, l) = edges(n, old, a), edges(n, new, b)
    return max(i, k), max(min(j, l), max(i, k))


def reshard(shard, n, old, new):
    rank, p = dist.get_rank(), dist.get_world_size()
    whole = shard.new_zeros(n)
    low, high = edges(n, old, rank)
    whole[low:high] = shard
    dist.all_reduce(whole)
    low, high = new_edges(n, new, rank)
    return whole[low:high].clone()
