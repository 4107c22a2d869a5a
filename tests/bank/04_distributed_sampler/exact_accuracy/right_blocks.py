# verdict: passed
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    count = torch.zeros(1, dtype=torch.int64)
    for i in range(n * rank // p, n * (rank + 1) // p):
        if is_correct(i):
            count += 1
    dist.all_reduce(count, op=dist.ReduceOp.SUM)
    return count / n
