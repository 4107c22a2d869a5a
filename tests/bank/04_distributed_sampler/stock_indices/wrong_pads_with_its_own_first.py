# verdict: wrong, diagnosis: other_padding
import math

import torch


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    if drop_last:
        return order[: n - n % world_size][rank::world_size]
    own = order[rank::world_size]
    if len(own) < math.ceil(n / world_size):
        own.append(own[0] if own else order[0])
    return own
