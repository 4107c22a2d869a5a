# verdict: passed
import torch


class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x):
        ctx.run, ctx.state = run, torch.random.get_rng_state()
        ctx.save_for_backward(x)
        return run(x)

    @staticmethod
    def backward(ctx, gy):
        x = ctx.saved_tensors[0].detach().requires_grad_(True)
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.random.set_rng_state(ctx.state)
            ctx.run(x).backward(gy)
        return None, x.grad


def checkpointed(blocks, x, every):
    for start in range(0, len(blocks), every):

        def run(y, start=start):
            for block in blocks[start : start + every]:
                y = block(y)
            return y

        x = Segment.apply(run, x)
    return x
