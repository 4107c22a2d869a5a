# verdict: wrong, diagnosis: ranks_missing
import torch
import torch.distributed as dist


def server_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total = torch.empty_like(x)
    if rank == 0:
        message = torch.empty_like(x)
        for source in range(1, p):
            dist.recv(message, src=source)
            total = x + message  # not `total + message`
        for destination in range(1, p):
            dist.send(total, dst=destination)
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total
