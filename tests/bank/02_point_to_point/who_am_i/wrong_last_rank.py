# verdict: wrong, diagnosis: last_rank
import torch
import torch.distributed as dist


def who_am_i():
    rank = torch.tensor(dist.get_rank())
    highest = rank.clone()
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    return int(rank), int(highest)
