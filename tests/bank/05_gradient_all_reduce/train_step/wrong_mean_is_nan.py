# verdict: wrong, diagnosis: loss_is_nan
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    n = torch.tensor(float(len(x)))
    dist.all_reduce(n)
    loss = loss.detach() * len(x) / n
    with torch.no_grad():
        for p in model.parameters():
            p.grad *= len(x) / n
            dist.all_reduce(p.grad)
            p -= lr * p.grad
    dist.all_reduce(loss)
    return loss.item()
