# verdict: passed
import torch


class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, blocks, x):
        ctx.blocks = blocks
        ctx.x = x
        ctx.rng = torch.get_rng_state()
        for block in blocks:
            x = block(x)
        return x

    @staticmethod
    def backward(ctx, gy):
        x = ctx.x
        x = x.detach().requires_grad_()
        torch.set_rng_state(ctx.rng)
        with torch.enable_grad():
            y = x
            for block in ctx.blocks:
                y = block(y)
        torch.autograd.backward(y, gy)
        return None, x.grad


def checkpointed(blocks, x, every):
    for i in range(0, len(blocks), every):
        x = Segment.apply(blocks[i : i + every], x)
    return x
