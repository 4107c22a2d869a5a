# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def server_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(x)
    if rank:
        dist.send(x, 0)
        dist.recv(arrived, 0)
        return arrived
    total = x.float()
    for worker in range(1, p):
        dist.recv(arrived, worker)
        total = total + arrived.float()
    total = total.to(x.dtype)
    for worker in range(1, p):
        dist.send(total, worker)
    return total
