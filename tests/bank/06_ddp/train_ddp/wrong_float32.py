# verdict: wrong, diagnosis: low_precision
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


def train_ddp(model, batches, lr):
    ddp = DistributedDataParallel(model.float())
    opt = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        opt.zero_grad()
        loss = F.cross_entropy(ddp(x.float()), y)
        loss.backward()
        opt.step()
        dist.all_reduce(loss.detach_())
        losses.append(loss.item() / dist.get_world_size())
    model.double()
    return losses
