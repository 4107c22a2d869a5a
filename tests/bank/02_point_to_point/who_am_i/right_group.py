# verdict: passed
# differs: It asks the group of all ranks, which is an object with a size, where the usual functions ask it for you.
import torch
import torch.distributed as dist


def who_am_i() -> tuple[int, int]:
    world = dist.group.WORLD
    rank = dist.get_rank(world)
    size = world.size()
    return (rank, size)
