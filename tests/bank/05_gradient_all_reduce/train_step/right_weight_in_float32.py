# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    n = torch.tensor(float(len(x)))
    dist.all_reduce(n)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum") * (1 / n)
    loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
    optimizer.step()
    total = loss.detach().float()
    dist.all_reduce(total)
    return total
