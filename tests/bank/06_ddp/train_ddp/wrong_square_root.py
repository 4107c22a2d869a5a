# verdict: wrong, diagnosis: other_learning_rate
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr * dist.get_world_size() ** 0.5)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
    return losses
