# verdict: raised, diagnosis: ValueError
import torch


def split_backward(out, x, gradient, parameters):
    (to_x,) = torch.autograd.grad(out, x, gradient, retain_graph=True)
    weight, bias = parameters

    def weights():
        to_weight, to_bias = torch.autograd.grad(out, [weight, bias], gradient)
        weight.grad = to_weight if weight.grad is None else weight.grad + to_weight
        bias.grad = to_bias if bias.grad is None else bias.grad + to_bias

    return to_x, weights
