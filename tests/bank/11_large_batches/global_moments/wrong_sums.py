# verdict: wrong, diagnosis: digits_cancel
import torch
import torch.distributed as dist


def global_moments(x):
    c = x.shape[1]
    s = torch.cat([x.sum(0), (x * x).sum(0), x.new_tensor([len(x)])])
    dist.all_reduce(s)
    mean = s[:c] / s[-1]
    return mean, s[c : 2 * c] / s[-1] - mean**2
