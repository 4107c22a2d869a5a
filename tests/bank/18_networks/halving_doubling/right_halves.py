# verdict: passed
# differs: It remembers which half was kept and which was given, and goes the same way back.
import torch
import torch.distributed as dist


def swap(give, get, other):
    sent = dist.isend(give.clone(), other)
    dist.recv(get, other)
    sent.wait()


def halving_doubling(x):
    r, p = dist.get_rank(), dist.get_world_size()
    x, q = x.clone(), 1 << (p.bit_length() - 1)
    if r >= q:
        dist.send(x, r - q)
        dist.recv(x, r - q)
        return x
    if r + q < p:
        got = torch.empty_like(x)
        dist.recv(got, r + q)
        x += got
    part, halves, d = x, [], q // 2
    while d:
        low, high = part.tensor_split(2)
        keep, give = (high, low) if r & d else (low, high)
        got = torch.empty_like(keep)
        swap(give, got, r ^ d)
        keep += got
        halves.append((keep, give, r ^ d))
        part, d = keep, d // 2
    for keep, give, other in reversed(halves):
        got = torch.empty_like(give)
        swap(keep, got, other)
        give.copy_(got)
    if r + q < p:
        dist.send(x, r + q)
    return x
