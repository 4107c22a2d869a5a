# Right and wrong answers to `fair_share`. In files of their own: autograder bank --write DIR
import numpy as np

# %% right_array_split: passed
def fair_share(n, rank, world_size):
    sizes = [len(part) for part in np.array_split(np.arange(n), world_size)]
    stops = np.cumsum(sizes)
    return stops[rank] - sizes[rank], stops[rank]

# %% right_floor_of_both_ends: passed
# differs: No rest and no `if`: both ends are rounded down from the exact place, so shares differ by one at most, and the longer ones are spread out.
def fair_share(n: int, rank: int, world_size: int) -> tuple[int, int]:
    return n * rank // world_size, n * (rank + 1) // world_size

# %% right_linspace: passed
def fair_share(n, rank, world_size):
    ends = np.linspace(0, n, world_size + 1).round().astype(int)
    return ends[rank], ends[rank + 1]

# %% right_one_more_for_the_first: passed
# differs: `divmod` gives the size and the rest, and the first ranks take one more: the long shares come first.
def fair_share(n, rank, world_size):
    size, rest = divmod(n, world_size)
    start = rank * size + min(rank, rest)
    if rank < rest:
        size += 1
    return start, start + size

# %% right_one_more_for_the_last: passed
def size_of(n, rank, world_size):
    return n // world_size + (1 if rank >= world_size - n % world_size else 0)


def fair_share(n, rank, world_size):
    start = sum(size_of(n, r, world_size) for r in range(rank))
    return [start, start + size_of(n, rank, world_size)]

# %% wrong_asks_the_rank_before: raised, RecursionError, levels 1 0
def fair_share(n, rank, world_size):
    size = n // world_size + (rank < n % world_size)
    start = fair_share(n, rank - 1, world_size)[1] if rank else 0
    return start, start + size

# %% wrong_calls_in_order: wrong, overlap, levels 0 0
_next = 0


def fair_share(n: int, rank: int, world_size: int) -> tuple[int, int]:
    global _next
    if rank == 0:
        _next = 0
    base, extra = divmod(n, world_size)
    start = _next
    _next = start + base + (1 if rank < extra else 0)
    return start, _next

# %% wrong_count_instead_of_stop: wrong, count_instead_of_stop, levels 0 0
def fair_share(n, rank, world_size):
    size, rest = divmod(n, world_size)
    return rank * size + min(rank, rest), size + int(rank < rest)

# %% wrong_drops_remainder: wrong, drops_remainder, levels 1 0
def fair_share(n, rank, world_size):
    size = n // world_size
    return rank * size, (rank + 1) * size

# %% wrong_everybody_draws_all: wrong, ignores_rank, levels 0 0
def fair_share(n, rank, world_size):
    start = 0
    stop = n
    return start, stop

# %% wrong_float_bounds: wrong, float_bounds, levels 0 0
def fair_share(n, rank, world_size):
    share = n / world_size
    return rank * share, (rank + 1) * share

# %% wrong_four_ranks: wrong, four_ranks, levels 0 0
def fair_share(n, rank, world_size):
    size, rest = divmod(n, 4)
    start = rank * size + min(rank, rest)
    return start, start + size + (rank < rest)

# %% wrong_four_ranks_floor_of_both_ends: wrong, four_ranks, levels 0 0
def fair_share(n, rank, world_size):
    return n * rank // 4, n * (rank + 1) // 4

# %% wrong_four_ranks_none_for_the_fifth: wrong, four_ranks, levels 0 0
RANKS = 4


def fair_share(n, rank, world_size):
    sizes = [n // RANKS + (r < n % RANKS) for r in range(RANKS)]
    return sum(sizes[:rank]), min(n, sum(sizes[: rank + 1]))

# %% wrong_fraction_times_n: wrong, unfair, levels 0 1
def fair_share(n: int, rank: int, world_size: int) -> tuple[int, int]:
    def edge(r):
        if r == world_size:
            return n
        return int((r / world_size) * n)

    return edge(rank), edge(rank + 1)

# %% wrong_halves: wrong, unfair, levels 0 0
def fair_share(n, rank, world_size):
    start, stop, first, last = 0, n, 0, world_size
    while last - first > 1:
        middle, cut = (first + last) // 2, (start + stop) // 2
        if rank < middle:
            stop, last = cut, middle
        else:
            start, first = cut, middle
    return start, stop

# %% wrong_in_int32: wrong, out_of_range, levels 1 0
def fair_share(n, rank, world_size):
    ends = np.arange(world_size + 1, dtype=np.int32) * n // world_size
    return int(ends[rank]), int(ends[rank + 1])

# %% wrong_inclusive_stop: wrong, inclusive_stop, levels 0 0
def fair_share(n, rank, world_size):
    size, rest = divmod(n, world_size)
    start = rank * size + min(rank, rest)
    return start, start + size + (rank < rest) - 1

# %% wrong_keeps_the_blocks_of_n: wrong, keeps_something, levels 0 1
_blocks = {}  # n -> the blocks of all ranks, worked out once


def fair_share(n, rank, world_size):
    if n not in _blocks or rank >= len(_blocks[n]):
        size, rest = divmod(n, world_size)
        blocks, start = [], 0
        for r in range(world_size):
            stop = start + size + (r < rest)
            blocks.append((start, stop))
            start = stop
        _blocks[n] = blocks
    return _blocks[n][rank]

# %% wrong_last_rank_takes_rest: wrong, last_rank_takes_rest, levels 1 0
def fair_share(n, rank, world_size):
    size = n // world_size
    start = rank * size
    stop = n if rank == world_size - 1 else start + size
    return start, stop

# %% wrong_linspace_of_torch: wrong, out_of_range, levels 1 0
import torch


def fair_share(n, rank, world_size):
    ends = torch.linspace(0, n, world_size + 1).round().long()
    return int(ends[rank]), int(ends[rank + 1])

# %% wrong_neighbours_share_a_sample: wrong, overlap, levels 0 0
def fair_share(n, rank, world_size):
    size = n // world_size
    start = rank * size
    stop = min(n, start + size + 1)
    return start, stop

# %% wrong_no_ranks_without_samples: raised, ZeroDivisionError, levels 1 0
def fair_share(n, rank, world_size):
    helpers = min(n, world_size)
    size, rest = divmod(n, helpers)
    if rank >= helpers:
        return n, n
    start = rank * size + min(rank, rest)
    return start, start + size + (rank < rest)

# %% wrong_prints: wrong, not_a_pair, levels 0 0
def fair_share(n, rank, world_size):
    size, rest = divmod(n, world_size)
    start = rank * size + min(rank, rest)
    print(start, start + size + (rank < rest))

# %% wrong_rank_times_a_rounded_size: wrong, hole, levels 1 0
def fair_share(n, rank, world_size):
    size = n / world_size
    return int(rank * size), int((rank + 1) * size)

# %% wrong_ranks_from_one: wrong, out_of_range, levels 0 0
def fair_share(n, rank, world_size):
    size = n // world_size
    rest = n % world_size
    start = (rank + 1) * size + min(rank, rest)
    return start, start + size + (1 if rank < rest else 0)

# %% wrong_rounds_up: wrong, rounds_up, levels 1 0
import math


def fair_share(n, rank, world_size):
    size = math.ceil(n / world_size)
    start = min(n, rank * size)
    return start, min(n, start + size)

# %% wrong_rounds_up_past_the_end: wrong, rounds_up, levels 1 0
def fair_share(n, rank, world_size):
    size = (n + world_size - 1) // world_size
    return rank * size, (rank + 1) * size

# %% wrong_start_from_own_size: wrong, start_from_own_size, levels 1 0
def fair_share(n, rank, world_size):
    size = n // world_size
    if rank < n % world_size:
        size = size + 1
    start = rank * size
    return start, start + size

# %% wrong_starts_at_one: wrong, starts_at_one, levels 0 0
def fair_share(n, rank, world_size):
    size, rest = divmod(n, world_size)
    start = 1 + rank * size + min(rank, rest)
    return start, start + size + (1 if rank < rest else 0)

# %% wrong_stop_of_a_short_block: wrong, hole, levels 1 0
def fair_share(n, rank, world_size):
    size = n // world_size
    start = rank * size + min(rank, n % world_size)
    return start, start + size

# %% wrong_strided: wrong, not_a_pair, levels 0 0
def fair_share(n, rank, world_size):
    return list(range(rank, n, world_size))

# %% wrong_stub: missing, not_written, levels 0 0
def fair_share(n, rank, world_size):
    """The block of samples of this rank."""
    # YOUR CODE HERE
    raise NotImplementedError()
