# verdict: wrong, diagnosis: second_step
import torch
import torch.distributed as dist
import torch.nn.functional as F

seen = {}


def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    if "n" not in seen:
        n = torch.tensor(float(len(x)))
        dist.all_reduce(n)
        seen["n"] = n.item()
    total = loss.detach().clone()
    dist.all_reduce(total)
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p -= lr / seen["n"] * p.grad
    return total.item() / seen["n"]
