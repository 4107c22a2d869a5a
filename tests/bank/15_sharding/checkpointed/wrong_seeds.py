# verdict: wrong, diagnosis: seeds_itself
import torch


class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, blocks):
        ctx.blocks = blocks
        ctx.save_for_backward(x)
        torch.manual_seed(0)
        for block in blocks:
            x = block(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        torch.manual_seed(0)
        with torch.enable_grad():
            y = x
            for block in ctx.blocks:
                y = block(y)
        torch.autograd.backward(y, gradient)
        return x.grad, None


def checkpointed(blocks, x, every):
    for start in range(0, len(blocks), every):
        x = Segment.apply(x, blocks[start : start + every])
    return x
