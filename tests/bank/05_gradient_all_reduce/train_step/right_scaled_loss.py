# verdict: passed
# differs: Each rank divides its sum by the global count before the backward pass, so the gradients only need to be added.
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    n = torch.tensor(len(x))
    dist.all_reduce(n)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum") / n
    loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
    optimizer.step()
    loss = loss.detach()
    dist.all_reduce(loss)
    return loss
