# verdict: hung, diagnosis: mismatched_dtype
import torch
import torch.distributed as dist


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    if dist.get_rank() == 0:
        arrived = torch.empty(x.shape)
        for other in range(1, dist.get_world_size()):
            dist.recv(arrived, src=other)
            total += arrived
        for other in range(1, dist.get_world_size()):
            dist.send(total, dst=other)
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total
