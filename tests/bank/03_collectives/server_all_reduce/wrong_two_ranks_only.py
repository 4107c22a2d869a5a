# verdict: hung, diagnosis: returned_early
import torch
import torch.distributed as dist


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    if dist.get_rank() == 0:
        arrived = torch.empty_like(x)
        dist.recv(arrived, src=1)
        total += arrived
        dist.send(total, dst=1)
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total
