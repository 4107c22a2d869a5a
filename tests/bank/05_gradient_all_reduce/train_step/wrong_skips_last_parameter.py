# verdict: wrong, diagnosis: some_parameters
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    n = torch.tensor(float(len(x)))
    dist.all_reduce(n)
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum") / n.item()
    loss.backward()
    with torch.no_grad():
        for p in list(model.parameters())[:-1]:
            dist.all_reduce(p.grad)
            p -= lr * p.grad
    total = loss.detach().clone()
    dist.all_reduce(total)
    return total.item()
