# Right and wrong answers to `minibatch_shares`. In files of their own: autograder bank --write DIR
import numpy as np
import torch

# %% right_batch_sampler: passed
from torch.utils.data import BatchSampler


def minibatch_shares(order, batch_size, rank, world_size):
    return [torch.tensor(ids)[rank::world_size] for ids in BatchSampler(order, batch_size, drop_last=False)]

# %% right_enumerate: passed
def minibatch_shares(order, batch_size, rank, world_size):
    shares = [[] for _ in range((len(order) + batch_size - 1) // batch_size)]
    for position, i in enumerate(order):
        step, place = divmod(position, batch_size)
        if place % world_size == rank:
            shares[step].append(i)
    return tuple(shares)

# %% right_generator: passed
def minibatch_shares(order, batch_size, rank, world_size):
    minibatch = []
    for sample in order:
        minibatch.append(sample)
        if len(minibatch) == batch_size:
            yield tuple(minibatch[rank::world_size])
            minibatch = []
    if minibatch:
        yield tuple(minibatch[rank::world_size])

# %% right_numpy: passed
def minibatch_shares(order, batch_size, rank, world_size):
    order = np.asarray(order)
    cuts = range(batch_size, len(order), batch_size)
    return [minibatch[rank::world_size] for minibatch in np.split(order, cuts)]

# %% right_object_array: passed
def minibatch_shares(order, batch_size, rank, world_size):
    starts = range(0, len(order), batch_size)
    shares = np.empty(len(starts), dtype=object)
    for step, start in enumerate(starts):
        shares[step] = np.array(order[start : start + batch_size])[rank::world_size]
    return shares

# %% right_positions: passed
def minibatch_shares(order, batch_size, rank, world_size):
    steps = (len(order) + batch_size - 1) // batch_size
    shares = [[] for _ in range(steps)]
    for position, sample in enumerate(order):
        step, place = divmod(position, batch_size)
        if place % world_size == rank:
            shares[step].append(sample)
    return shares

# %% right_slices: passed
def minibatch_shares(order, batch_size, rank, world_size):
    return [order[start : start + batch_size][rank::world_size] for start in range(0, len(order), batch_size)]

# %% right_tensor_split: passed
def minibatch_shares(order, batch_size, rank, world_size):
    return [part[rank::world_size] for part in torch.as_tensor(order).split(batch_size)]

# %% right_torch_split: passed
# differs: First `split` cuts the minibatches, then a slice with a stride deals each of them out, all in one line.
def minibatch_shares(order, batch_size, rank, world_size):
    return [piece[rank::world_size] for piece in torch.tensor(order).split(batch_size)]

# %% wrong_a_last_sample_alone_is_lost: wrong, rounds_the_number, levels 1 1 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    starts = range(0, len(order) - 1, batch_size)
    return [order[start : start + batch_size][rank::world_size] for start in starts]

# %% wrong_batch_size_per_rank: wrong, batch_size_per_rank, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    together = batch_size * world_size
    return [order[start : start + together][rank::world_size] for start in range(0, len(order), together)]

# %% wrong_blocks: wrong, blocks, levels 0 0 1 0
def minibatch_shares(order, batch_size, rank, world_size):
    return [
        np.array_split(order[start : start + batch_size], world_size)[rank].tolist() for start in range(0, len(order), batch_size)
    ]

# %% wrong_by_id: wrong, by_id, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    return [[i for i in order[s : s + batch_size] if i % world_size == rank] for s in range(0, len(order), batch_size)]

# %% wrong_deal_goes_on: wrong, deal_goes_on, levels 0 1 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    return [
        [order[k] for k in range(start, min(start + batch_size, len(order))) if k % world_size == rank]
        for start in range(0, len(order), batch_size)
    ]

# %% wrong_eats_the_order: wrong, modifies_input, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    out = []
    while order:
        batch = [order.pop(0) for _ in range(min(batch_size, len(order)))]
        out.append(batch[rank::world_size])
    return out

# %% wrong_equal_minibatches: wrong, mixes_minibatches, levels 1 0 0 1
import math


def minibatch_shares(order, batch_size, rank, world_size):
    steps = math.ceil(len(order) / batch_size)
    return [minibatch[rank::world_size].tolist() for minibatch in np.array_split(order, steps)]

# %% wrong_equal_shares: wrong, drops_the_rest, levels 0 0 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    shares = []
    for start in range(0, len(order), batch_size):
        minibatch = order[start : start + batch_size]
        local = len(minibatch) // world_size
        shares.append(minibatch[: local * world_size][rank::world_size])
    return shares

# %% wrong_flat: wrong, not_in_minibatches, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    own = []
    for start in range(0, len(order), batch_size):
        own += order[start : start + batch_size][rank::world_size]
    return own

# %% wrong_float32_and_back: wrong, out_of_range, levels 1 0 1 1
def minibatch_shares(order, batch_size, rank, world_size):
    ids = torch.Tensor(order)
    return [part[rank::world_size].long().tolist() for part in ids.split(batch_size)]

# %% wrong_floats: wrong, not_integers, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    order = np.array(order, dtype=float)
    return [order[s : s + batch_size][rank::world_size].tolist() for s in range(0, len(order), batch_size)]

# %% wrong_full_minibatches_only: wrong, drops_the_last_minibatch, levels 1 0 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    steps = len(order) // batch_size
    return [order[s * batch_size : (s + 1) * batch_size][rank::world_size] for s in range(steps)]

# %% wrong_ids_of_a_byte: wrong, sample_left_out, levels 0 0 1 1
def minibatch_shares(order, batch_size, rank, world_size):
    ids = torch.tensor(order).to(torch.uint8)
    return [minibatch[rank::world_size].tolist() for minibatch in ids.split(batch_size)]

# %% wrong_ignores_order: wrong, ignores_order, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    n = len(order)
    return [list(range(start + rank, min(start + batch_size, n), world_size)) for start in range(0, n, batch_size)]

# %% wrong_ignores_rank: wrong, ignores_rank, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    return [order[start : start + batch_size][::world_size] for start in range(0, len(order), batch_size)]

# %% wrong_index_runs_out: raised, IndexError, levels 1 0 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    return [[order[start + place] for place in range(rank, batch_size, world_size)] for start in range(0, len(order), batch_size)]

# %% wrong_inverse_permutation: raised, IndexError, levels 1 0 1 1
def minibatch_shares(order, batch_size, rank, world_size):
    n = len(order)
    position = np.empty(n, dtype=int)
    position[order] = np.arange(n)  # where each id stands
    shares = [[] for _ in range(-(-n // batch_size))]
    for i in order:
        step, place = divmod(position[i], batch_size)
        if place % world_size == rank:
            shares[step].append(i)
    return shares

# %% wrong_last_rank_takes_the_rest: wrong, split_otherwise, levels 0 0 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    shares = []
    for start in range(0, len(order), batch_size):
        minibatch = order[start : start + batch_size]
        whole = len(minibatch) // world_size * world_size
        shares.append(minibatch[:whole][rank::world_size])
        if rank == world_size - 1:
            shares[-1] = shares[-1] + minibatch[whole:]
    return shares

# %% wrong_leaves_out_empty: wrong, leaves_out_empty, levels 1 1 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    shares = []
    for start in range(0, len(order), batch_size):
        own = order[start : start + batch_size][rank::world_size]
        if own:
            shares.append(own)
    return shares

# %% wrong_next_rank_begins: wrong, split_otherwise, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    shares = []
    for step, start in enumerate(range(0, len(order), batch_size)):
        shares.append(order[start : start + batch_size][(rank + step) % world_size :: world_size])
    return shares

# %% wrong_none_for_empty: wrong, none_for_empty, levels 1 1 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    return [order[start : start + batch_size][rank::world_size] or None for start in range(0, len(order), batch_size)]

# %% wrong_not_split: wrong, not_split, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]

# %% wrong_not_written: missing, not_written, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    raise NotImplementedError("write this function")

# %% wrong_one_empty_list: wrong, keeps_something, levels 1 1 0 1
NOTHING = []


def minibatch_shares(order, batch_size, rank, world_size):
    steps = range(0, len(order), batch_size)
    return [list(order[k : k + batch_size][rank::world_size]) or NOTHING for k in steps]

# %% wrong_one_too_many: wrong, one_minibatch_too_many, levels 0 1 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    return [order[k * batch_size : (k + 1) * batch_size][rank::world_size] for k in range(len(order) // batch_size + 1)]

# %% wrong_other_way_round: wrong, split_otherwise, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    return [order[start : start + batch_size][world_size - 1 - rank :: world_size] for start in range(0, len(order), batch_size)]

# %% wrong_padded: wrong, padded, levels 0 0 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    shares = []
    for start in range(0, len(order), batch_size):
        minibatch = list(order[start : start + batch_size])
        while len(minibatch) % world_size:
            minibatch += minibatch[: world_size - len(minibatch) % world_size]
        shares.append(minibatch[rank::world_size])
    return shares

# %% wrong_padded_array: wrong, out_of_range, levels 1 0 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    n = len(order)
    full = np.full(-(-n // batch_size) * batch_size, -1)
    full[:n] = order
    return [b[rank::world_size] for b in full.reshape(-1, batch_size)]

# %% wrong_recursive: raised, RecursionError, levels 0 1 1 1
def minibatch_shares(order, batch_size, rank, world_size):
    if not order:
        return []
    return [order[:batch_size][rank::world_size]] + minibatch_shares(order[batch_size:], batch_size, rank, world_size)

# %% wrong_reversed_share: wrong, own_order, levels 0 0 1 0
def minibatch_shares(order, batch_size, rank, world_size):
    return [order[s : s + batch_size][rank::world_size][::-1] for s in range(0, len(order), batch_size)]

# %% wrong_rounds_minibatches: wrong, rounds_the_number, levels 1 0 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    steps = round(len(order) / batch_size)
    return [order[s * batch_size : (s + 1) * batch_size][rank::world_size] for s in range(steps)]

# %% wrong_runs_into_the_next: wrong, mixes_minibatches, levels 0 1 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    local = -(-batch_size // world_size)
    shares = []
    for start in range(0, len(order), batch_size):
        shares.append([order[start + rank + k * world_size] for k in range(local) if start + rank + k * world_size < len(order)])
    return shares

# %% wrong_same_list_repeated: wrong, sample_left_out, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    out, mine = [], []
    for s in range(0, len(order), batch_size):
        mine.clear()
        mine += order[s : s + batch_size][rank::world_size]
        out.append(mine)
    return out

# %% wrong_sorted: wrong, sorted, levels 0 0 1 0
def minibatch_shares(order, batch_size, rank, world_size):
    return [sorted(order[start : start + batch_size][rank::world_size]) for start in range(0, len(order), batch_size)]

# %% wrong_sorts_in_place: wrong, modifies_input, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    out = []
    for s in range(0, len(order), batch_size):
        out.append(order[s : s + batch_size][rank::world_size])
    order.sort()
    return out

# %% wrong_stock_rounded_down: wrong, stock_then_cut, levels 0 1 0 1
def minibatch_shares(order, batch_size, rank, world_size):
    own = order[rank::world_size]
    local = max(batch_size // world_size, 1)
    return [own[start : start + local] for start in range(0, len(own), local)]

# %% wrong_stock_sampler: wrong, stock_then_cut, levels 0 0 0 1
from torch.utils.data import BatchSampler, DistributedSampler


def minibatch_shares(order, batch_size, rank, world_size):
    sampler = DistributedSampler(order, world_size, rank, shuffle=False)
    local = -(-batch_size // world_size)
    return [[order[i] for i in ids] for ids in BatchSampler(sampler, local, drop_last=False)]

# %% wrong_two_bytes: wrong, out_of_range, levels 1 0 1 1
def minibatch_shares(order, batch_size, rank, world_size):
    order = np.array(order).astype(np.int16)
    return [order[s : s + batch_size][rank::world_size].tolist() for s in range(0, len(order), batch_size)]

# %% wrong_whole_minibatches: wrong, whole_minibatches, levels 0 0 0 0
def minibatch_shares(order, batch_size, rank, world_size):
    minibatches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return minibatches[rank::world_size]
