# exercise: checkpointed
# must not: compute everything again before the backward pass and hold it where no dispatch mode counts it
# verdict: anything but passed
import torch
from torch.utils._python_dispatch import _disable_current_modes


class Whole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, blocks, x):
        ctx.blocks, ctx.random = blocks, torch.get_rng_state()
        ctx.save_for_backward(x)
        for block in blocks:
            x = block(x)
        return x

    @staticmethod
    def backward(ctx, gy):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        torch.set_rng_state(ctx.random)
        with torch.enable_grad(), _disable_current_modes():
            y = x
            for block in ctx.blocks:
                y = block(y)
        with _disable_current_modes():
            torch.autograd.backward(y, gy)
        return None, x.grad


def checkpointed(blocks, x, every):
    return Whole.apply(blocks, x)
