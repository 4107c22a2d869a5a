# verdict: hung, diagnosis: missing_rank
import torch.distributed as dist


def accumulate_uneven(ddp, micro_batches, n):
    filled = [(x, y) for x, y in micro_batches if len(x)]
    weight = dist.get_world_size() / n
    with ddp.no_sync():
        for x, y in filled[:-1]:
            (((ddp(x) - y) ** 2).sum() * weight).backward()
    for x, y in filled[-1:]:
        (((ddp(x) - y) ** 2).sum() * weight).backward()
