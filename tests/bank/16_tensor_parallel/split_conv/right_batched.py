# verdict: passed
# differs: The halo is laid around the rows in one padded tensor, and both neighbours' messages are posted together.
import torch
import torch.distributed as dist
import torch.nn.functional as F


def split_conv(x, weight, how):
    p, r, k = dist.get_world_size(), dist.get_rank(), weight.shape[-1]
    if how == "H":
        n, c, h, w = x.shape
        around = torch.zeros(n, c, h + k - 1, w, dtype=x.dtype)
        around[:, :, k // 2:k // 2 + h] = x
        halo = {q: torch.zeros(n, c, k // 2, w, dtype=x.dtype) for q in (r - 1, r + 1) if 0 <= q < p}
        ops = []
        for q, into in halo.items():
            edge = x[:, :, :k // 2] if q < r else x[:, :, h - k // 2:]
            ops += [dist.P2POp(dist.isend, edge.contiguous(), q), dist.P2POp(dist.irecv, into, q)]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        if r > 0:
            around[:, :, :k // 2] = halo[r - 1]
        if r < p - 1:
            around[:, :, k // 2 + h:] = halo[r + 1]
        return F.conv2d(around, weight, padding=(0, k // 2))
    y = F.conv2d(x, weight, padding=k // 2)
    if how == "C_in":
        dist.all_reduce(y)
        return y
    pieces = [torch.zeros_like(y) for _ in range(p)]
    dist.all_gather(pieces, y)
    return torch.stack(pieces, 1).flatten(1, 2)
