# exercise: column_linear
# must not: compute the whole layer in numpy, where no mode counts products, and send its columns for show
# verdict: wrong
import torch
import torch.distributed as dist


def column_linear(x, weight, bias):
    p, rank = dist.get_world_size(), dist.get_rank()
    if weight.shape[0] % p:
        raise ValueError(f"{p} does not divide {weight.shape[0]}")
    whole = torch.from_numpy(x.numpy() @ weight.numpy().T + bias.numpy())
    own = whole.chunk(p, dim=1)[rank].contiguous()
    dist.all_gather([torch.empty_like(own) for _ in range(p)], own)
    return whole
