# verdict: passed
# differs: DDP stays silent all the way, and the gradients are added up by hand at the end and divided once, by all rows.
import torch.distributed as dist


def accumulate_uneven(ddp, micro_batches, n):
    with ddp.no_sync():
        for x, y in micro_batches:
            ((ddp(x) - y) ** 2).sum().backward()
    for w in ddp.parameters():
        dist.all_reduce(w.grad)
        w.grad /= n
