# verdict: wrong, diagnosis: last_one_twice
import torch.distributed as dist


def accumulate_uneven(ddp, micro_batches, n):
    p = dist.get_world_size()
    with ddp.no_sync():
        for x, y in micro_batches:
            (((ddp(x) - y) ** 2).sum() * p / n).backward()
    (((ddp(x) - y) ** 2).sum() * p / n).backward()
