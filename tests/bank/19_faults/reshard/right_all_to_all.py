# verdict: passed
# differs: Who gives how much to whom is worked out on every rank, and one `all_to_all` moves it.
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
    gives = [j - i for i, j in (overlap(n, old, new, rank, other) for other in range(p))]
    gets = [j - i for i, j in (overlap(n, old, new, other, rank) for other in range(p))]
    mine = shard.new_empty(sum(gets))
    dist.all_to_all_single(mine, shard, gets, gives)
    return mine
