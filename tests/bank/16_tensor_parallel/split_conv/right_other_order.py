# verdict: passed
import torch.distributed as dist
import torch.nn.functional as F


def split_conv(x, weight, how):
    p, r, k = dist.get_world_size(), dist.get_rank(), weight.shape[-1]
    if how == "C_in":
        y = F.conv2d(x, weight, padding="same")
        dist.all_reduce(y)
        return y
    if how == "C_out":
        y = F.conv2d(x, weight, padding="same")
        whole = y.new_empty(p * y.shape[1], len(y), *y.shape[2:])
        dist.all_gather_into_tensor(whole, y.transpose(0, 1).contiguous())
        return whole.transpose(0, 1)
    halo = k // 2
    padded = F.pad(x, (halo, halo, halo, halo))
    rows = x.shape[2]
    side = x.new_empty(len(x), x.shape[1], halo, x.shape[3])
    for step in (0, 1):  # down, then up: even ranks send first
        to, source = (r + 1, r - 1) if step == 0 else (r - 1, r + 1)
        mine = x[:, :, rows - halo:] if step == 0 else x[:, :, :halo]
        for turn in (0, 1):
            if r % 2 == turn and 0 <= to < p:
                dist.send(mine.contiguous(), to)
            if r % 2 != turn and 0 <= source < p:
                dist.recv(side, source)
                at = slice(0, halo) if step == 0 else slice(halo + rows, None)
                padded[:, :, at, halo:-halo] = side
    return F.conv2d(padded, weight)
