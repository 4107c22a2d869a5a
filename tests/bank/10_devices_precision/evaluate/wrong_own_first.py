# verdict: wrong, diagnosis: ranks_disagree
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    own = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    rank, p = dist.get_rank(), dist.get_world_size()
    if root is not None:
        dist.reduce(own, root)
        return (float(own[0] / own[2]), float(own[1] / own[2])) if rank == root else None
    parts = [torch.empty_like(own) for _ in range(p)]
    dist.all_gather(parts, own)
    for k in range(1, p):
        own += parts[(rank + k) % p]
    return float(own[0] / own[2]), float(own[1] / own[2])
