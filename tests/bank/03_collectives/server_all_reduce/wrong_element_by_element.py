# verdict: wrong, diagnosis: too_many_messages
import torch
import torch.distributed as dist


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    flat = total.view(-1)
    number = torch.empty((), dtype=x.dtype)
    for i in range(flat.numel()):
        if rank == 0:
            for other in range(1, p):
                dist.recv(number, src=other)
                flat[i] += number
            for other in range(1, p):
                dist.send(flat[i], dst=other)
        else:
            dist.send(flat[i], dst=0)
            dist.recv(number, src=0)
            flat[i] = number
    return total
