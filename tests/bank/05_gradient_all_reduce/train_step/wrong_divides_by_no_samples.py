# verdict: wrong, diagnosis: empty_is_nan
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    totals = torch.tensor([float(len(x)), 0.0], dtype=torch.float64)
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals[1] = loss.item()
    dist.all_reduce(totals)
    share = len(x) / totals[0].item()
    with torch.no_grad():
        for p in model.parameters():
            p.grad *= share / torch.tensor(len(x))  # the mean of my samples, weighted by my share
            dist.all_reduce(p.grad)
            p -= lr * p.grad
    return (totals[1] / totals[0]).item()
