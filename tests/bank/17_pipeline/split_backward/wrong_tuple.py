# verdict: wrong, diagnosis: wrong_type
import torch


def split_backward(out, x, gradient, parameters):
    to_x = torch.autograd.grad(out, x, gradient, retain_graph=True)
    return to_x, lambda: out.backward(gradient, inputs=parameters)
