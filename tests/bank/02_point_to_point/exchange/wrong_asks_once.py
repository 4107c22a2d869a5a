# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.empty_like(x)
    request = dist.isend(x, partner)
    dist.recv(y, partner)
    request.is_completed()
    return y
