# verdict: hung, diagnosis: mismatched_dtype
import torch
import torch.distributed as dist
import torch.nn.functional as F


def split_conv(x, weight, how):
    p, r, reach = dist.get_world_size(), dist.get_rank(), weight.shape[-1] // 2
    if how == "C_out":
        own = F.conv2d(x, weight, padding=reach)
        parts = [torch.empty_like(own) for _ in range(p)]
        dist.all_gather(parts, own)
        return torch.cat(parts, dim=1)
    if how == "C_in":
        y = F.conv2d(x, weight, padding=reach)
        dist.all_reduce(y)
        return y
    first, last = x[:, :, :reach].contiguous(), x[:, :, -reach:].contiguous()
    above, below = torch.zeros(first.shape), torch.zeros(first.shape)
    works = []
    if r > 0:
        works += [dist.isend(first, r - 1), dist.irecv(above, r - 1)]
    if r < p - 1:
        works += [dist.isend(last, r + 1), dist.irecv(below, r + 1)]
    for work in works:
        work.wait()
    return F.conv2d(torch.cat([above, x, below], dim=2), weight, padding=(0, reach))
