# verdict: wrong, diagnosis: another_step
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    n = torch.tensor(float(len(x)))
    dist.all_reduce(n)
    opt = torch.optim.SGD(model.parameters(), lr=lr, weight_decay=1e-4)
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum") / n.item()
    loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
    opt.step()
    total = loss.detach().clone()
    dist.all_reduce(total)
    return total.item()
