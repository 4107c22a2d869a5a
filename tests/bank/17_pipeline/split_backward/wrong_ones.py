# verdict: wrong, diagnosis: input_of_ones
import torch


def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out.sum(), x, retain_graph=True)
    return to_x, lambda: out.backward(gradient, inputs=parameters)
