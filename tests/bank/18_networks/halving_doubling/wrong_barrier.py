# verdict: wrong, diagnosis: uses_collective
import torch
import torch.distributed as dist


def both(give, size, other):
    got = give.new_empty(size)
    for request in dist.batch_isend_irecv(
        [
            dist.P2POp(dist.isend, give.contiguous(), other),
            dist.P2POp(dist.irecv, got, other),
        ]
    ):
        request.wait()
    return got


def inner(x, d):
    if not d:
        return x
    r, k = dist.get_rank(), len(x) // 2
    if r & d:
        mine = inner(x[k:] + both(x[:k], len(x) - k, r ^ d), d // 2)
        return torch.cat([both(mine, k, r ^ d), mine])
    mine = inner(x[:k] + both(x[k:], k, r ^ d), d // 2)
    return torch.cat([mine, both(mine, len(x) - k, r ^ d)])


def halving_doubling(x):
    r, p, q = dist.get_rank(), dist.get_world_size(), 1
    while 2 * q <= p:
        q *= 2
    extra = p - q
    dist.barrier()
    if extra == 0:
        return inner(x, q // 2)
    total = torch.empty_like(x)
    if r >= q:
        dist.send(x, r % q)
        dist.recv(total, r % q)
        return total
    if r < extra:
        dist.recv(total, r + q)
        total = inner(x + total, q // 2)
        dist.send(total, r + q)
        return total
    return inner(x, q // 2)
