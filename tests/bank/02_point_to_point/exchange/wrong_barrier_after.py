# verdict: wrong, diagnosis: needless_barrier
import torch
import torch.distributed as dist


def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.empty_like(x)
    request = dist.isend(x, partner)
    dist.recv(y, partner)
    request.wait()
    dist.barrier()
    return y
