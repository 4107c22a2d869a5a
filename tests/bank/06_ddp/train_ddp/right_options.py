# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


def train_ddp(model, batches, lr):
    ddp = DistributedDataParallel(model, bucket_cap_mb=1, gradient_as_bucket_view=True, broadcast_buffers=False, static_graph=True)
    opt = torch.optim.SGD(ddp.module.parameters(), lr)
    losses = torch.zeros(len(batches), dtype=torch.float64)
    for k, (x, y) in enumerate(batches):
        loss = F.nll_loss(torch.log_softmax(ddp.forward(x), -1), y)
        opt.zero_grad(set_to_none=False)
        loss.backward()
        opt.step()
        losses[k] = loss.detach()
    dist.all_reduce(losses, op=dist.ReduceOp.AVG)
    return losses
