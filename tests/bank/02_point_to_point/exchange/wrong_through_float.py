# verdict: wrong, diagnosis: through_float
import torch
import torch.distributed as dist


def exchange(x, partner):
    me = dist.get_rank()
    if partner == me:
        return x
    out = torch.zeros(x.shape, dtype=torch.float32)
    r = dist.isend(x.float(), partner)
    dist.recv(out, partner)
    r.wait()
    return out.to(x.dtype)
