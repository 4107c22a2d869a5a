# verdict: wrong, diagnosis: weights_changed
import torch.distributed as dist


def accumulate_uneven(ddp, micro_batches, n):
    p = dist.get_world_size()
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
    x, y = micro_batches[-1]
    ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
    for w in ddp.parameters():
        w.data -= 0.1 * w.grad
