# verdict: wrong, diagnosis: pads_the_last_batch
import numpy as np


def next_batch(state, n, batch_size, rank, world_size):
    seed, epoch, taken = state["seed"], state["epoch"], state["taken"]
    order = np.random.default_rng([seed, epoch]).permutation(n)
    more = np.random.default_rng([seed, epoch + 1]).permutation(n)
    batch = np.concatenate([order, more])[taken : taken + batch_size]
    taken += batch_size
    if taken >= n:
        epoch, taken = epoch + 1, taken - n
    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}
