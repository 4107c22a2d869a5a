# verdict: wrong, diagnosis: weights_of_ones
import torch


def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)
    return to_x, lambda: out.sum().backward(inputs=parameters)
