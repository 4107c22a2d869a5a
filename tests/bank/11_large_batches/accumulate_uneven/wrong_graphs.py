# verdict: wrong, diagnosis: graphs_kept
import torch.distributed as dist


def accumulate_uneven(ddp, micro_batches, n):
    total = 0
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            total = total + ((ddp(x) - y) ** 2).sum()
    x, y = micro_batches[-1]
    total = total + ((ddp(x) - y) ** 2).sum()
    (total * dist.get_world_size() / n).backward()
