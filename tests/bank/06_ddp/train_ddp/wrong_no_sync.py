# verdict: wrong, diagnosis: bypasses_ddp
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        with ddp.no_sync():
            optimizer.zero_grad()
            loss = F.cross_entropy(ddp(x), y)
            loss.backward()
        optimizer.step()
        dist.all_reduce(loss.data)
        losses.append(loss.item() / dist.get_world_size())
    return losses
