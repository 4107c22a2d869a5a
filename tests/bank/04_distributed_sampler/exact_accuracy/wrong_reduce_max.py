# verdict: wrong, diagnosis: integer_division
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    t = torch.zeros(n)
    for i in range(rank, n, p):
        t[i] = is_correct(i)
    dist.all_reduce(t, op=dist.ReduceOp.MIN)
    return t.mean()
