# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def train_step(model, x, y, lr):
    for p in model.parameters():
        p.grad = None
    loss = F.nll_loss(F.log_softmax(model(x), dim=1), y, reduction="sum")
    loss.backward()
    flat = torch.cat([*(p.grad.reshape(-1) for p in model.parameters()), loss.detach()[None], torch.tensor([float(len(y))])])
    dist.all_reduce(flat)
    *_, total, n = flat
    vector_to_parameters(parameters_to_vector(model.parameters()).detach() - lr * flat[:-2] / n, model.parameters())
    return total / n
