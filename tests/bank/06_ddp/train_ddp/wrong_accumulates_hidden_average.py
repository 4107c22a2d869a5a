# verdict: wrong, diagnosis: running_mean
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


def train_ddp(model, batches, lr):
    ddp = DistributedDataParallel(model)
    opt = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses, running = [], 0.0
    for k, (x, y) in enumerate(batches, 1):
        opt.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        opt.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        running += mean.item() / dist.get_world_size()
        losses.append(running / k)
    return losses
