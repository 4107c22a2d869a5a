# verdict: passed
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    works = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        optimizer.step()
        mean = loss.detach() / dist.get_world_size()
        works.append(dist.all_reduce(mean, async_op=True))
        losses.append(mean)
    for work in works:
        work.wait()
    return [mean.item() for mean in losses]
