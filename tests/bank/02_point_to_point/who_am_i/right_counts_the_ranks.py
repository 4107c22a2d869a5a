# verdict: passed
import torch
import torch.distributed as dist


def who_am_i():
    present = torch.ones(1, dtype=torch.int64)
    dist.all_reduce(present)
    return [dist.get_rank(), present.item()]
