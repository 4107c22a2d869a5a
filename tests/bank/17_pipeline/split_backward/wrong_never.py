# verdict: wrong, diagnosis: weights_never
import torch


def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)
    return to_x, lambda: torch.autograd.grad(out, parameters, gradient)
