# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def train_ddp(model, batches, lr):
    ddp = DDP(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        optimizer.step()
        mean = loss.detach() / dist.get_world_size()
        work = dist.all_reduce(mean, async_op=True)
        losses.append(mean.item())
        work.wait()
    return losses
