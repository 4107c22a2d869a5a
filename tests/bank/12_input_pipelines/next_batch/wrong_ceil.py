# verdict: wrong, diagnosis: uneven_shares
import numpy as np


def next_batch(state, n, batch_size, rank, world_size):
    seed, epoch, taken = state["seed"], state["epoch"], state["taken"]
    order = np.random.default_rng([seed, epoch]).permutation(n)
    batch = order[taken : taken + batch_size]
    taken += len(batch)
    if taken == n:
        epoch, taken = epoch + 1, 0
    each = -(-len(batch) // world_size)
    share = batch[rank * each : (rank + 1) * each].tolist()
    return share, {"seed": seed, "epoch": epoch, "taken": taken}
