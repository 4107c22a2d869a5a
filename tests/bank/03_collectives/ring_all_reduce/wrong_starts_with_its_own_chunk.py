# verdict: wrong, diagnosis: wrong_order
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    r, p = dist.get_rank(), dist.get_world_size()
    cs = [c.clone() for c in torch.tensor_split(x, p)]
    for s in range(p - 1):
        b = torch.empty_like(cs[(r - s - 1) % p])
        w = dist.isend(cs[(r - s) % p], (r + 1) % p)
        dist.recv(b, (r - 1) % p)
        w.wait()
        cs[(r - s - 1) % p] += b
    m = cs[(r + 1) % p]
    out = [m]
    for s in range(p - 1):
        b = torch.empty_like(cs[(r - s) % p])
        w = dist.isend(m, (r + 1) % p)
        dist.recv(b, (r - 1) % p)
        w.wait()
        out.append(b)
        m = b
    return torch.cat(out)
