# verdict: wrong, diagnosis: wrong_dtype
import torch
import torch.distributed as dist


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.to(torch.float64, copy=True)
    if dist.get_rank() == 0:
        arrived = torch.empty_like(total)
        for other in range(1, dist.get_world_size()):
            dist.recv(arrived, src=other)
            total += arrived
        for other in range(1, dist.get_world_size()):
            dist.send(total, dst=other)
    else:
        dist.send(total.clone(), dst=0)
        dist.recv(total, src=0)
    return total
