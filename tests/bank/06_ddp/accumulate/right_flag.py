# verdict: passed
# differs: It switches DDP's own flag in place of the context manager, and divides the finished gradient once.
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    *head, (x, y) = micro_batches
    ddp.require_backward_grad_sync = False
    for a, b in head:
        F.cross_entropy(ddp(a), b).backward()
    ddp.require_backward_grad_sync = True
    F.cross_entropy(ddp(x), y).backward()
    for p in ddp.parameters():
        p.grad /= len(micro_batches)
