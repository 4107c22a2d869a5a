# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    count = torch.tensor([float(len(x))], dtype=torch.float64)
    dist.all_reduce(count)
    losses = F.cross_entropy(model(x), y, reduction="none")
    model.zero_grad()
    (losses.sum() * dist.get_world_size() / count.item()).backward()
    average_gradients(model)
    with torch.no_grad():
        for p in model.parameters():
            p.sub_(p.grad, alpha=lr)
    return global_metrics(losses.detach(), torch.zeros(len(x), dtype=torch.bool))[0]
