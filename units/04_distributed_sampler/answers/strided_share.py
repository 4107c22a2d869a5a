# Right and wrong answers to `strided_share`. In files of their own: autograder bank --write DIR
import math
import numpy as np
import torch

# %% right_filter: passed
def strided_share(n, rank, world_size):
    return [i for i in range(n) if i % world_size == rank]

# %% right_float32_and_back: passed
def strided_share(n, rank, world_size):
    return np.arange(rank, n, world_size, dtype=np.float32).astype(int)

# %% right_generator: passed
# differs: A generator: it hands out one id after the other and never holds the whole share.
def strided_share(n, rank, world_size):
    i = rank
    while i < n:
        yield i
        i += world_size

# %% right_int32_array: passed
def strided_share(n, rank, world_size):
    return np.arange(rank, n, world_size, dtype=np.int32)

# %% right_numpy: passed
def strided_share(n, rank, world_size):
    return np.arange(n)[rank::world_size]

# %% right_range: passed
def strided_share(n, rank, world_size):
    return list(range(rank, n, world_size))

# %% right_repeat: passed
import itertools


def strided_share(n, rank, world_size):
    turns = itertools.cycle(range(world_size))
    return [i for i, turn in zip(range(n), turns) if turn == rank]

# %% right_slice_of_range: passed
# differs: A slice of a range is a range: nothing is stored, and Python does the counting.
def strided_share(n, rank, world_size):
    return range(n)[rank::world_size]

# %% right_tensor: passed
def strided_share(n: int, rank: int, world_size: int):
    ids = torch.arange(n)
    return ids[ids % world_size == rank]

# %% wrong_blocks: wrong, blocks, levels 0 0
def strided_share(n, rank, world_size):
    return np.array_split(np.arange(n), world_size)[rank].tolist()

# %% wrong_by_count: wrong, drops_the_rest, levels 1 0
def strided_share(n, rank, world_size):
    return [rank + k * world_size for k in range(n // world_size)]

# %% wrong_counts_from_one: wrong, out_of_range, levels 0 0
def strided_share(n, rank, world_size):
    return list(range(rank + 1, n + 1, world_size))

# %% wrong_float_tensor: wrong, sample_left_out, levels 0 0
def strided_share(n, rank, world_size):
    return torch.linspace(rank, n - 1, len(range(rank, n, world_size)))

# %% wrong_floats: wrong, not_integers, levels 0 0
def strided_share(n, rank, world_size):
    return np.arange(rank, n, world_size, dtype=float).tolist()

# %% wrong_four_ranks: wrong, sample_left_out, levels 0 0
def strided_share(n, rank, world_size):
    return list(range(rank, n, 4))

# %% wrong_ids_of_a_byte: wrong, sample_left_out, levels 1 0
def strided_share(n, rank, world_size):
    return np.arange(n).astype(np.uint8)[rank::world_size]

# %% wrong_ignores_rank: wrong, ignores_rank, levels 0 0
def strided_share(n, rank, world_size):
    return list(range(0, n, world_size))

# %% wrong_items: wrong, items, levels 0 0
def strided_share(n, rank, world_size):
    return [10 * i for i in range(rank, n, world_size)]

# %% wrong_last_rank_first: wrong, dealt_otherwise, levels 0 0
def strided_share(n, rank, world_size):
    return list(range(world_size - 1 - rank, n, world_size))

# %% wrong_last_rank_takes_the_rest: wrong, dealt_otherwise, levels 1 0
def strided_share(n, rank, world_size):
    rounds = n // world_size
    ids = [rank + k * world_size for k in range(rounds)]
    if rank == world_size - 1:
        ids += range(rounds * world_size, n)
    return ids

# %% wrong_none_when_empty: wrong, returns_nothing, levels 1 0
def strided_share(n, rank, world_size):
    if rank < n:
        return list(range(rank, n, world_size))

# %% wrong_not_written: missing, not_written, levels 0 0
def strided_share(n, rank, world_size):
    raise NotImplementedError("write this function")

# %% wrong_padded: wrong, padded, levels 1 0
def strided_share(n, rank, world_size):
    size = math.ceil(n / world_size)
    return [(rank + k * world_size) % n for k in range(size)]

# %% wrong_past_the_end: wrong, out_of_range, levels 1 0
def strided_share(n, rank, world_size):
    return [rank + k * world_size for k in range(math.ceil(n / world_size))]

# %% wrong_prints: wrong, returns_nothing, levels 0 0
def strided_share(n, rank, world_size):
    for i in range(rank, n, world_size):
        print(i)

# %% wrong_reversed: wrong, own_order, levels 0 0
def strided_share(n, rank, world_size):
    return list(range(rank, n, world_size))[::-1]

# %% wrong_set: wrong, wrong_type, levels 0 0
def strided_share(n, rank, world_size):
    return {i for i in range(n) if i % world_size == rank}

# %% wrong_snake: wrong, dealt_otherwise, levels 0 0
def strided_share(n, rank, world_size):
    ids = []
    for start in range(0, n, world_size):
        place = rank if start // world_size % 2 == 0 else world_size - 1 - rank
        if start + place < n:
            ids.append(start + place)
    return ids

# %% wrong_someone_gets_zero: wrong, sample_twice, levels 1 0
def strided_share(n, rank, world_size):
    ids = list(range(rank, n, world_size))
    return ids or [0]

# %% wrong_starts_at_one: wrong, starts_at_one, levels 0 0
def strided_share(n, rank, world_size):
    return list(range(rank + 1, n, world_size))

# %% wrong_stops_one_early: wrong, sample_left_out, levels 0 0
def strided_share(n, rank, world_size):
    return list(range(rank, n - 1, world_size))

# %% wrong_table_of_rounds: raised, IndexError, levels 1 0
def strided_share(n, rank, world_size):
    rounds = -(-n // world_size)
    table = np.full(rounds * world_size, -1)
    table[:n] = np.arange(n)
    mine = table.reshape(rounds, world_size)[:, rank]
    return mine[:-1] if mine[-1] < 0 else mine

# %% wrong_torch_arange: raised, RuntimeError, levels 1 0
def strided_share(n, rank, world_size):
    return torch.arange(rank, n, world_size).tolist()

# %% wrong_two_bytes: wrong, out_of_range, levels 1 0
def strided_share(n, rank, world_size):
    return np.arange(rank, n, world_size).astype(np.int16)

# %% wrong_uint16_ids: wrong, sample_left_out, levels 1 0
def strided_share(n, rank, world_size):
    ids = np.arange(n).astype(np.uint16)  # small integers save memory
    return ids[rank::world_size].tolist()
