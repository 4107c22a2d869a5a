# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    parameters = list(model.parameters())
    loss = F.cross_entropy(model(x), y, reduction="sum")
    grads = torch.autograd.grad(loss, parameters)
    bucket = torch.cat([g.flatten() for g in grads] + [loss.detach().reshape(1), torch.tensor([float(len(y))]).double()])
    dist.all_reduce(bucket)
    bucket /= bucket[-1].clone()
    with torch.no_grad():
        for p, g in zip(parameters, bucket[:-2].split([p.numel() for p in parameters])):
            p.add_(g.view_as(p), alpha=-lr)
    return bucket[-2]
