# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    sent, arrived = x.double(), torch.empty(x.shape, dtype=torch.float64)
    request = dist.isend(sent, partner)
    dist.recv(arrived, partner)
    request.wait()
    return arrived.to(x.dtype)
