# Right and wrong answers to `who_am_i`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_counts_the_ranks: passed
def who_am_i():
    present = torch.ones(1, dtype=torch.int64)
    dist.all_reduce(present)
    return [dist.get_rank(), present.item()]

# %% right_functions: passed
def who_am_i():
    return dist.get_rank(), dist.get_world_size()

# %% right_group: passed
# differs: It asks the group of all ranks, which is an object with a size, where the usual functions ask it for you.
def who_am_i() -> tuple[int, int]:
    world = dist.group.WORLD
    rank = dist.get_rank(world)
    size = world.size()
    return (rank, size)

# %% right_position_in_group: passed
from torch.distributed import get_process_group_ranks, get_rank


def who_am_i():
    ranks = get_process_group_ranks(None)
    return ranks.index(get_rank()), len(ranks)

# %% wrong_always_four: wrong, always_four, levels 0
RANKS = 4


def who_am_i():
    return dist.get_rank(), RANKS

# %% wrong_counts_from_one: wrong, counts_from_one, levels 0
def who_am_i():
    return dist.get_rank() + 1, dist.get_world_size()

# %% wrong_environment: wrong, asks_nobody, levels 0
import os


def who_am_i():
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))

# %% wrong_floats: wrong, not_integers, levels 0
# breaks "tuple[int, int]": the numbers are equal to the right ones, but floats, on every rank
def who_am_i() -> tuple[int, int]:
    return float(dist.get_rank()), float(dist.get_world_size())

# %% wrong_last_rank: wrong, last_rank, levels 0
def who_am_i():
    rank = torch.tensor(dist.get_rank())
    highest = rank.clone()
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    return int(rank), int(highest)

# %% wrong_modulo_eight: wrong, unrecognised, levels 0
def who_am_i():
    return dist.get_rank() % 8, dist.get_world_size()

# %% wrong_not_written: missing, not_written, levels 0
def who_am_i():
    raise NotImplementedError()

# %% wrong_prints: wrong, returns_nothing, levels 0
def who_am_i():
    print(dist.get_rank(), "of", dist.get_world_size())

# %% wrong_rank_in_node: wrong, rank_on_its_node, levels 0
def who_am_i():
    gpus_per_node = 4
    return dist.get_rank() % gpus_per_node, dist.get_world_size()

# %% wrong_rank_is_constant: wrong, always_rank_zero, levels 0
def who_am_i():
    rank, world_size = 0, dist.get_world_size()
    return rank, world_size

# %% wrong_rank_zero_only: wrong, rank_zero_only, levels 0
def who_am_i():
    if dist.get_rank() == 0:
        return dist.get_rank(), dist.get_world_size()

# %% wrong_swapped: wrong, swapped, levels 0
def who_am_i():
    return dist.get_world_size(), dist.get_rank()

# %% wrong_two_machines: wrong, always_two, levels 0
def who_am_i():
    rank = dist.get_rank()
    return rank, 2
