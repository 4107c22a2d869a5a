# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def global_moments(x):
    c = x.shape[1]
    shift = x.max(0).values if len(x) else x.new_full((c,), float("-inf"))
    dist.all_reduce(shift, op=dist.ReduceOp.MAX)
    moved = x - shift
    sums = torch.cat([moved.sum(0), moved.square().sum(0), x.new_tensor([len(x)])])
    dist.all_reduce(sums)
    mean = sums[:c] / sums[-1]
    return shift + mean, sums[c : 2 * c] / sums[-1] - mean**2
