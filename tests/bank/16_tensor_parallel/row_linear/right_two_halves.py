# verdict: passed
import torch.distributed as dist
import torch.nn.functional as F


def row_linear(x, weight, bias):
    p = dist.get_world_size()
    y = F.linear(x, weight)
    flat = F.pad(y.flatten(), (0, -y.numel() % p))
    if flat.numel() > y.numel():  # padding would cost bytes
        dist.all_reduce(y)
    else:
        mine = flat.new_empty(flat.numel() // p)
        dist.reduce_scatter_tensor(mine, flat)
        dist.all_gather_into_tensor(flat, mine)
        y = flat.view_as(y)
    if bias is not None:
        y += bias
    return y
