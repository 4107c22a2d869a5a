# verdict: wrong, diagnosis: sends_the_whole_vector
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
    d = 1
    while d < q:
        got = torch.empty_like(x)
        swap(x, got, r ^ d)
        x += got
        d *= 2
    if r + q < p:
        dist.send(x, r + q)
    return x
