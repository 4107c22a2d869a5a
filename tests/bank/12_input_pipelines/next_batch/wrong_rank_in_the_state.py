# verdict: wrong, diagnosis: states_differ
import numpy as np


def next_batch(state, n, batch_size, rank, world_size):
    seed, epoch, taken = state["seed"], state["epoch"], state["taken"]
    order = np.random.default_rng([seed, epoch]).permutation(n)
    batch = order[taken : taken + batch_size]
    taken += len(batch)
    if taken == n:
        epoch, taken = epoch + 1, 0
    after = {"seed": seed, "epoch": epoch, "taken": taken, "rank": rank}
    return batch[rank::world_size].tolist(), after
