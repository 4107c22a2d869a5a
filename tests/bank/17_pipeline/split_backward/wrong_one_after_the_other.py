# verdict: wrong, diagnosis: pass_for_each_parameter
import torch


def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)

    def weights():
        for one in parameters:
            (found,) = torch.autograd.grad(out, one, gradient, retain_graph=True)
            one.grad = found if one.grad is None else one.grad + found

    return to_x, weights
