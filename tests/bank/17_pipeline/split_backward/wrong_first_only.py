# verdict: wrong, diagnosis: first_micro_batch
import torch


def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)

    def weights():
        for p, g in zip(parameters, torch.autograd.grad(out, parameters, gradient), strict=True):
            if p.grad is None:
                p.grad = g

    return to_x, weights
