# verdict: wrong, diagnosis: moves_too_much
import torch
import torch.distributed as dist


def sync_norm_backward(g, xhat, weight, inv, n):
    both = g.new_zeros(n, 2 * g.shape[1])
    both[: len(g)] = torch.cat([g, g * xhat], dim=1)
    every = [torch.empty_like(both) for _ in range(dist.get_world_size())]
    dist.all_gather(every, both)
    first, second = (torch.cat(every).sum(0) / n).chunk(2)
    return weight * inv * (g - first - xhat * second), (g * xhat).sum(0), g.sum(0)
