# verdict: wrong, diagnosis: one_big_batch
import torch
import torch.distributed as dist


def accumulate_uneven(ddp, micro_batches, n):
    x = torch.cat([x for x, _ in micro_batches])
    y = torch.cat([y for _, y in micro_batches])
    loss = ((ddp(x) - y) ** 2).sum() * dist.get_world_size() / n
    loss.backward()
