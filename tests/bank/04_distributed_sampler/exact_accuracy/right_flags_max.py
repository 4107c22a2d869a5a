# verdict: passed
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    t = torch.zeros(n, dtype=torch.int32)
    for i in range(rank, n, p):
        t[i] = int(is_correct(i))
    dist.all_reduce(t, op=dist.ReduceOp.MAX)
    return t.double().mean()
