# verdict: wrong, diagnosis: counted_twice
import torch
import torch.distributed as dist


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    arrived = torch.empty_like(x)
    if dist.get_rank() == 0:
        for other in range(1, dist.get_world_size()):
            dist.recv(arrived, src=other)
            total += arrived
        for other in range(1, dist.get_world_size()):
            dist.send(total, dst=other)
    else:
        dist.send(x, dst=0)
        dist.recv(arrived, src=0)
        total += arrived
    return total
