# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def server_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    if rank == 0:
        for other in range(1, p):
            box = torch.empty_like(x)
            request = dist.irecv(box, src=other)
            total += box
            request.wait()
        for other in range(1, p):
            dist.send(total, dst=other)
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total
