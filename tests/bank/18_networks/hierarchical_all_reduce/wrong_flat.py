# verdict: wrong, diagnosis: too_much_between
import torch.distributed as dist


def hierarchical_all_reduce(x, ranks_per_node):
    x = x.clone()
    dist.all_reduce(x)
    return x
