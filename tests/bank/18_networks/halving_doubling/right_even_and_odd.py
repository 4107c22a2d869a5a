# verdict: passed
import torch
import torch.distributed as dist


def halving_doubling(x):
    r, p = dist.get_rank(), dist.get_world_size()
    levels = p.bit_length() - 1
    q = 2**levels
    extra = p - q
    x = x.clone()
    if r < 2 * extra and r % 2:
        dist.send(x, r - 1)
        dist.recv(x, r - 1)
        return x
    if r < 2 * extra:
        got = torch.empty_like(x)
        dist.recv(got, r + 1)
        x += got
    names = [*range(0, 2 * extra, 2), *range(2 * extra, p)]
    me = names.index(r)
    lo, hi, trail = 0, len(x), []
    for k in reversed(range(levels)):
        mid, other = (lo + hi) // 2, names[me ^ 2**k]
        keep, give = ((mid, hi), (lo, mid)) if me >> k & 1 else ((lo, mid), (mid, hi))
        got = x.new_empty(keep[1] - keep[0])
        request = dist.irecv(got, other)
        dist.send(x[slice(*give)], other)
        request.wait()
        x[slice(*keep)] += got
        trail.append((keep, give, other))
        lo, hi = keep
    for keep, give, other in trail[::-1]:
        got = x.new_empty(give[1] - give[0])
        request = dist.irecv(got, other)
        dist.send(x[slice(*keep)], other)
        request.wait()
        x[slice(*give)] = got
    if r < 2 * extra:
        dist.send(x, r + 1)
    return x
