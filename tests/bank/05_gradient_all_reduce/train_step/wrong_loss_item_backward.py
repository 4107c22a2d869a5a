# verdict: wrong, diagnosis: no_step
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    n = torch.tensor(float(len(x)), dtype=torch.float64)
    dist.all_reduce(n)
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    total = torch.tensor(loss.item(), dtype=torch.float64, requires_grad=True)
    total.backward()
    with torch.no_grad():
        for p in model.parameters():
            g = p.grad if p.grad is not None else torch.zeros_like(p)
            dist.all_reduce(g)
            p -= lr * g / n
    dist.all_reduce(total.data)
    return (total / n).item()
