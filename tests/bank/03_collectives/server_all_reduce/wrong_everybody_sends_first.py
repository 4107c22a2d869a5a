# verdict: hung, diagnosis: unsafe_send
import torch
import torch.distributed as dist


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total, arrived = x.clone(), torch.empty_like(x)
    if dist.get_rank() == 0:
        for other in range(1, dist.get_world_size()):
            dist.send(total, dst=other)
            dist.recv(arrived, src=other)
            total += arrived
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total
