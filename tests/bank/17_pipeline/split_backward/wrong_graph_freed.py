# verdict: raised, diagnosis: RuntimeError
import torch


def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient)
    return to_x, lambda: out.backward(gradient, inputs=parameters)
