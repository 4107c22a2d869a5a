# verdict: wrong, diagnosis: divided_again
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        loss = F.cross_entropy(ddp(x), y)
        dist.all_reduce(loss)
        loss = loss / dist.get_world_size()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
