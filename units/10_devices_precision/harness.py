"""The harnesses of unit 10's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import torch


# Replicas that note which rows they have seen, by their first number; a one lies in every `.grad`.
class Replica(torch.nn.Module):
    def __init__(self, weight, bias, seen):
        super().__init__()
        self.weight, self.bias = torch.nn.Parameter(weight.clone()), torch.nn.Parameter(bias.clone())
        for parameter in self.parameters():
            parameter.grad = torch.ones_like(parameter)
        self.seen = seen

    def forward(self, x):
        self.seen += x[:, 0].tolist()
        return torch.tanh(x @ self.weight + self.bias)


def mean_loss(outputs, labels):
    of = torch.nn.functional.cross_entropy if labels.dim() == 1 else torch.nn.functional.mse_loss
    return of(outputs, labels)


def data_parallel_step(f, weights, biases, x, y):
    seen = [[] for _ in weights]
    replicas = [Replica(*one) for one in zip(weights, biases, seen, strict=False)]
    f(list(replicas), x, y, mean_loss)  # an earlier step, with the weights of which nothing is left
    for replica, rows, *own in zip(replicas, seen, weights, biases, strict=False):
        replica.weight, replica.bias = (torch.nn.Parameter(one.clone()) for one in own)
        for parameter in replica.parameters():
            parameter.grad = torch.ones_like(parameter)
        rows.clear()
    gradients = f(list(replicas), x, y, mean_loss)
    weights = [[parameter.detach() for parameter in replica.parameters()] for replica in replicas]
    if not isinstance(gradients, torch.Tensor) and hasattr(gradients, "__iter__"):
        gradients = [one.detach() if isinstance(one, torch.Tensor) else one for one in gradients]
    places = {parameter.data_ptr() for replica in replicas for parameter in replica.parameters()}
    shared = len(places) < len(replicas) * len(weights[0])
    return {"weights": weights, "gradients": gradients, "rows": seen, "shared": shared}


def scaled_step(f, weights, slopes, scale, lr, max_norm):
    calls = []

    def loss_of(half):
        if half.dtype != torch.float16:
            raise TypeError(f"loss_of computes with float16 weights, and got {half.dtype}")
        calls.append(1)
        return (half.float() * slopes).sum()

    step = f(weights, loss_of, scale, lr, max_norm)
    if isinstance(step, (list, tuple)):
        step = [one.detach() if isinstance(one, torch.Tensor) else one for one in step]
    return {"step": step, "calls": len(calls), "marked": weights.requires_grad or weights.grad is not None}
