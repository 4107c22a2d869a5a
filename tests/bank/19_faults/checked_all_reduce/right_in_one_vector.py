# verdict: passed
# differs: The checksum and the size of the numbers travel at the end of the vector itself: one message less.
import torch
import torch.distributed as dist


def checked_all_reduce(x, all_reduce):
    n = len(x)
    sent = torch.cat([x, x.sum().reshape(1), x.abs().sum().reshape(1)])
    all_reduce(sent)
    good = torch.tensor([1.0 if abs(sent[:n].sum() - sent[n]) <= 1e-10 * sent[n + 1] else 0.0])
    dist.all_reduce(good, op=dist.ReduceOp.MIN)
    return sent[:n], good[0] > 0
