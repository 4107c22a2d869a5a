# verdict: wrong, diagnosis: reused_buffer
import torch
import torch.distributed as dist


def server_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    if rank == 0:
        arrived = torch.empty_like(x)
        for other in range(1, p):
            dist.recv(arrived, src=other)
            total += arrived
        for other in range(1, p):
            dist.send(total, dst=other)
    else:
        send = dist.isend(total, dst=0)
        dist.recv(total, src=0)
        send.wait()
    return total
