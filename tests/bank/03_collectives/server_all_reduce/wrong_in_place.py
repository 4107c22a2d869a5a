# verdict: wrong, diagnosis: modifies_input
import torch
import torch.distributed as dist


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    if dist.get_rank() == 0:
        arrived = torch.empty_like(x)
        for other in range(1, dist.get_world_size()):
            dist.recv(arrived, src=other)
            x += arrived
        for other in range(1, dist.get_world_size()):
            dist.send(x, dst=other)
    else:
        dist.send(x, dst=0)
        dist.recv(x, src=0)
    return x
