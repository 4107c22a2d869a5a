# verdict: passed
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    own = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    p = dist.get_world_size()
    parts = [torch.empty_like(own) for _ in range(p)]
    if root is None:
        dist.all_gather(parts, own)
    else:
        dist.gather(own, parts if dist.get_rank() == root else None, dst=root)
        if dist.get_rank() != root:
            return None
    total = torch.stack(parts).sum(0)
    return float(total[0] / total[2]), float(total[1] / total[2])
