# verdict: wrong, diagnosis: wrong_dtype
import torch
import torch.distributed as dist


def server_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    if rank:
        dist.send(x, 0)
        total = torch.empty_like(x)
        dist.recv(total, 0)
        return total
    rows = [x] + [torch.empty_like(x) for _ in range(1, p)]
    for worker in range(1, p):
        dist.recv(rows[worker], worker)
    total = torch.stack(rows).sum(0)
    for worker in range(1, p):
        dist.send(total.to(x.dtype), worker)
    return total
