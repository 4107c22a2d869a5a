# verdict: wrong, diagnosis: one_too_few
import torch.distributed as dist


def accumulate_uneven(ddp, micro_batches, n):
    p = dist.get_world_size()
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
    x, y = micro_batches[-2] if len(micro_batches) > 1 else micro_batches[-1]
    ddp.zero_grad()
    with ddp.no_sync():
        for x, y in micro_batches[:-2]:
            ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
    x, y = micro_batches[-2] if len(micro_batches) > 1 else (micro_batches[-1][0][:0], micro_batches[-1][1][:0])
    ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
