# verdict: passed
# differs: The sums of all ranks are gathered and added by each for itself: p times the bytes, one collective all the same.
import torch
import torch.distributed as dist


def sync_norm_backward(g, xhat, weight, inv, n):
    mine = torch.cat([g.sum(0, keepdim=True), (g * xhat).sum(0, keepdim=True)], dim=1)
    every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(every, mine)
    c = g.shape[1]
    mean = torch.cat(every).sum(0) / n
    gx = (g - mean[:c] - xhat * mean[c:]) * (inv * weight)
    return gx, mine[0, c:], mine[0, :c]
