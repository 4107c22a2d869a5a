# verdict: wrong, diagnosis: one_tensor
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel


def train_ddp(model, batches, lr):
    ddp = DistributedDataParallel(model)
    opt = torch.optim.SGD(ddp.parameters(), lr=lr)
    total = torch.zeros(1)
    losses = []
    for x, y in batches:
        opt.zero_grad()
        loss = F.cross_entropy(ddp(x), y)
        loss.backward()
        opt.step()
        total[0] = loss.item()
        dist.all_reduce(total)
        total /= dist.get_world_size()
        losses.append(total)
    return losses
