# verdict: passed
# differs: Two calls of `autograd.grad`, one for the input now and one for the weights when it is asked for.
import torch


def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)

    def weights():
        for p, g in zip(parameters, torch.autograd.grad(out, parameters, gradient), strict=True):
            p.grad = g if p.grad is None else p.grad + g

    return to_x, weights
