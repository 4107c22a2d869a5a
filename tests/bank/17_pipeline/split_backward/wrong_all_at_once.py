# verdict: wrong, diagnosis: not_split
import torch


def split_backward(out, x, gradient, parameters):
    to_x, *to_weights = torch.autograd.grad(out, [x, *parameters], gradient)

    def weights():
        for p, g in zip(parameters, to_weights, strict=True):
            p.grad = g if p.grad is None else p.grad + g

    return to_x, weights
