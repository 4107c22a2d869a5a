# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist
import torch.nn.functional as F


def split_conv(x, weight, how):
    p, r, reach = dist.get_world_size(), dist.get_rank(), weight.shape[-1] // 2
    y = F.conv2d(x, weight, padding=reach)
    if how == "C_out":
        parts = [torch.empty_like(y) for _ in range(p)]
        dist.all_gather(parts, y)
        return torch.cat(parts, dim=1)
    if how == "C_in":
        dist.all_reduce(y)
        return y
    halo = torch.zeros(2, *x[:, :, :reach].shape, dtype=x.dtype)
    mine = torch.stack([x[:, :, :reach], x[:, :, -reach:]])
    works = []
    for side, other in enumerate((r - 1, r + 1)):
        if 0 <= other < p:
            both = torch.empty_like(mine)
            works.append((side, both, dist.isend(mine, other), dist.irecv(both, other)))
    for side, both, sent, got in works:
        sent.wait()
        got.wait()
        halo[side] = both[1 - side]
    return F.conv2d(torch.cat([halo[0], x, halo[1]], 2), weight, padding=(0, reach))
