# verdict: wrong, diagnosis: loss_on_one_rank
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def train_ddp(model, batches, lr):
    ddp = DDP(model)
    opt = torch.optim.SGD(ddp.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        loss = F.cross_entropy(ddp(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        t = loss.detach().clone()
        dist.reduce(t, dst=0)
        if dist.get_rank() == 0:
            losses.append(t.item() / dist.get_world_size())
    return losses
