# verdict: wrong, diagnosis: synchronises_every_time
import torch.distributed as dist


def accumulate_uneven(ddp, micro_batches, n):
    for x, y in micro_batches:
        loss = ((ddp(x) - y) ** 2).sum() * dist.get_world_size() / n
        loss.backward()
