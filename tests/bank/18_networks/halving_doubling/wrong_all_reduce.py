# verdict: wrong, diagnosis: uses_all_reduce
import torch.distributed as dist


def halving_doubling(x):
    x = x.clone()
    dist.all_reduce(x)
    return x
