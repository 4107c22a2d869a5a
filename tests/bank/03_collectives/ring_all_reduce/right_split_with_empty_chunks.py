# verdict: passed
# differs: One loop does both halves, which differ by one in who sends what; short vectors get empty chunks at the end.
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    r, p = dist.get_rank(), dist.get_world_size()
    y = x.clone()
    size = -(-len(x) // p)
    cs = list(y.split(size)) if len(y) else []
    while len(cs) < p:
        cs.append(y[:0])
    for ph in (0, 1):
        for s in range(p - 1):
            i, j = (r + ph - s) % p, (r + ph - s - 1) % p
            b = torch.empty_like(cs[j])
            w2 = dist.irecv(b, (r - 1) % p)
            w1 = dist.isend(cs[i].clone(), (r + 1) % p)
            w1.wait()
            w2.wait()
            cs[j].copy_(cs[j] + b if ph == 0 else b)
        dist.barrier()
    return y
