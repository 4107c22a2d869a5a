# verdict: wrong, diagnosis: synchronises_the_first
import torch.distributed as dist


def accumulate_uneven(ddp, micro_batches, n):
    p = dist.get_world_size()

    def add(x, y):
        (((ddp(x) - y) ** 2).sum() * p / n).backward()

    add(*micro_batches[0])
    with ddp.no_sync():
        for x, y in micro_batches[1:]:
            add(x, y)
