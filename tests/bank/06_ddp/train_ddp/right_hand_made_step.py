# verdict: passed
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def train_ddp(model, batches, lr):
    ddp = DDP(model)
    losses = []
    for x, y in batches:
        ddp.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        with torch.no_grad():
            for parameter in ddp.parameters():
                parameter -= lr * parameter.grad
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
    return losses
