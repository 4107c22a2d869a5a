# verdict: wrong, diagnosis: left_switched_off
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    ddp.require_backward_grad_sync = False
    for x, y in micro_batches[:-1]:
        (F.cross_entropy(ddp(x), y) / k).backward()
    ddp.require_backward_grad_sync = True
    x, y = micro_batches[-1]
    (F.cross_entropy(ddp(x), y) / k).backward()
    ddp.require_backward_grad_sync = False
