# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    n, p = len(x), dist.get_world_size()
    model.zero_grad(set_to_none=False)
    loss = torch.tensor(0.0, dtype=torch.float64)
    if n:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
    total = torch.tensor(n)
    dist.all_reduce(total)
    for parameter in model.parameters():
        parameter.grad *= n / total
        dist.all_reduce(parameter.grad)
        parameter.data -= lr * parameter.grad
    weighted = loss.detach() * n / total
    dist.all_reduce(weighted)
    return weighted.item()
