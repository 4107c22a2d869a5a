# verdict: wrong, diagnosis: squares_only
import torch
import torch.distributed as dist


def global_moments(x):
    c = x.shape[1]
    s = torch.cat([x.sum(0), (x * x).sum(0), x.new_tensor([len(x)])])
    dist.all_reduce(s)
    s = s / s[-1]
    return s[:c], s[c : 2 * c]
