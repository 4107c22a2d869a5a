# verdict: wrong, diagnosis: own_rows
import torch.distributed as dist


def global_moments(x):
    return x.mean(0), x.var(0, unbiased=False)
