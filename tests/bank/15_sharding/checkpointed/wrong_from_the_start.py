# verdict: wrong, diagnosis: recomputes_too_often
import torch


class Upto(torch.autograd.Function):
    @staticmethod
    def forward(ctx, blocks, end, every, x, first):
        ctx.blocks, ctx.end, ctx.every = blocks, end, every
        ctx.save_for_backward(first)
        for block in blocks[end - every : end]:
            x = block(x)
        return x

    @staticmethod
    def backward(ctx, gy):
        x = ctx.saved_tensors[0]
        with torch.no_grad():
            for block in ctx.blocks[: ctx.end - ctx.every]:
                x = block(x)
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            y = x
            for block in ctx.blocks[ctx.end - ctx.every : ctx.end]:
                y = block(y)
        y.backward(gy)
        return None, None, None, x.grad, None


def checkpointed(blocks, x, every):
    first, done = x.detach(), 0
    while done < len(blocks):
        size = min(every, len(blocks) - done)
        x = Upto.apply(blocks, done + size, size, x, first)
        done += size
    return x
