# verdict: passed
import torch
import torch.distributed as dist


def uneven_loss(outputs, labels):
    share = torch.tensor(float(labels.numel()))
    dist.all_reduce(share, op=dist.ReduceOp.AVG)
    log_p = torch.log_softmax(outputs, dim=1)
    return -log_p.gather(1, labels[:, None]).sum() / share
