# verdict: wrong, diagnosis: wrong_loss
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    count = torch.tensor(float(len(x)), dtype=torch.float64)
    dist.all_reduce(count)
    model.zero_grad()
    F.cross_entropy(model(x), y, reduction="sum").backward()
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p -= lr / count.item() * p.grad
        loss = F.cross_entropy(model(x), y, reduction="sum")
    dist.all_reduce(loss)
    return (loss / count).item()
