# verdict: passed
import torch
import torch.distributed as dist


def global_moments(x):
    c = x.shape[1]
    shift = x[0] if len(x) else x.new_zeros(c)
    moved = x - shift
    own = torch.cat([x.new_tensor([len(x)]), shift + moved.sum(0) / max(len(x), 1), moved.square().sum(0)])
    if len(x):
        own[1 + c :] -= moved.sum(0) ** 2 / len(x)
    every = torch.empty(dist.get_world_size() * len(own), dtype=x.dtype)
    dist.all_gather_single(every, own)
    every = every.view(-1, len(own))
    weights = every[:, 0] / every[:, 0].sum()
    middle = every[every[:, 0] > 0][0, 1 : 1 + c]
    off = weights @ ((every[:, 1 : 1 + c] - middle) * (every[:, :1] > 0))
    var = every[:, 1 + c :].sum(0) / every[:, 0].sum()
    for weight, row in zip(weights, every):
        if weight > 0:
            var = var + weight * (row[1 : 1 + c] - middle - off) ** 2
    return middle + off, var
