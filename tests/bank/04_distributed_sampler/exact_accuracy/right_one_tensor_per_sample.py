# verdict: passed
# differs: A flag for every sample, and the sum of the tables: more bytes, and each rank ends up with the answer to every sample.
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    flags = torch.zeros(n)
    for i in range(dist.get_rank(), n, dist.get_world_size()):
        flags[i] = is_correct(i)
    dist.all_reduce(flags)
    return flags.mean()
