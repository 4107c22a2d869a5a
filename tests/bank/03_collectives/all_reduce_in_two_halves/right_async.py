# verdict: passed
# differs: Both halves are started without waiting and waited for at once: the place where something could be computed meanwhile.
import torch
import torch.distributed as dist


def padded_to(x, multiple):
    y = torch.zeros((len(x) + multiple - 1) // multiple * multiple).to(x)
    y[: len(x)].copy_(x)
    return y


def all_reduce_in_two_halves(x):
    world = dist.get_world_size()
    y = padded_to(x, world)
    own = y.view(world, -1)[0].clone()
    dist.reduce_scatter_tensor(own, y, async_op=True).wait()
    dist.all_gather_into_tensor(y, own, async_op=True).wait()
    return y.narrow(0, 0, len(x))
