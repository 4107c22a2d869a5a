# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def accumulate_uneven(ddp, micro_batches, n):
    p = dist.get_world_size()
    for k, (x, y) in enumerate(micro_batches):
        ddp.require_backward_grad_sync = k == len(micro_batches) - 1
        ((ddp(x.float().double()) - y.float().double()) ** 2).sum().mul(p / n).backward()
