# verdict: passed
import torch
import torch.distributed as dist


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    if dist.get_rank() > 0:
        result = torch.zeros_like(x)
        dist.send(x, 0)
        dist.recv(result, 0)
        return result
    box, result = torch.zeros_like(x), x + 0
    for _ in range(dist.get_world_size() - 1):
        dist.recv(box)  # whoever comes first
        result = result + box
    for other in range(1, dist.get_world_size()):
        dist.send(result, other)
    return result
