# Right and wrong answers to `right_neighbour`. In files of their own: autograder bank --write DIR

# %% right_if: passed
# differs: An `if` for the last rank in place of the remainder: longer, and it says in words where the circle closes.
def right_neighbour(rank: int, world_size: int) -> int:
    last = world_size - 1
    if rank == last:
        return 0
    return rank + 1

# %% right_list_of_ranks: passed
import numpy as np


def right_neighbour(rank: int, world_size: int) -> int:
    ring = np.roll(np.arange(world_size), -1)
    return ring[rank]

# %% right_modulo: passed
def right_neighbour(rank: int, world_size: int) -> int:
    return (rank + 1) % world_size

# %% wrong_divides_by_the_others: raised, ZeroDivisionError, levels 1 0
def right_neighbour(rank, world_size):
    return (rank + 1) * (1 - rank // (world_size - 1))

# %% wrong_forgets_to_wrap: wrong, forgets_to_wrap, levels 0 0
def right_neighbour(rank: int, world_size: int) -> int:
    return rank + 1

# %% wrong_hard_coded_four: wrong, hard_coded_four, levels 1 0
def right_neighbour(rank: int, world_size: int) -> int:
    return (rank + 1) % 4

# %% wrong_misspelt: raised, NameError, levels 0 0
def right_neighbour(rank: int, world_size: int) -> int:
    return (rank + 1) % worldsize

# %% wrong_not_written: missing, not_written, levels 0 0
def right_neighbour(rank: int, world_size: int) -> int:
    # Your code here: replace the next line.
    raise NotImplementedError("write this function")

# %% wrong_prints: wrong, returns_nothing, levels 0 0
def right_neighbour(rank: int, world_size: int) -> int:
    print((rank + 1) % world_size)

# %% wrong_stops_at_the_end: wrong, stops_at_the_end, levels 0 0
def right_neighbour(rank: int, world_size: int) -> int:
    if rank < world_size - 1:
        return rank + 1
    return rank

# %% wrong_turns_left: wrong, turns_left, levels 0 0
def right_neighbour(rank: int, world_size: int) -> int:
    return (rank - 1) % world_size

# %% wrong_wraps_after_the_end: wrong, forgets_to_wrap, levels 0 0
def right_neighbour(rank: int, world_size: int) -> int:
    return (rank + 1) % (world_size + 1)

# %% wrong_wraps_too_early: wrong, wraps_too_early, levels 0 0
def right_neighbour(rank: int, world_size: int) -> int:
    return (rank + 1) % (world_size - 1)
