# verdict: passed
# differs: The batch is cut first and dealt out with a stride, which does not ask how many ranks there were before.
import numpy as np


def next_batch(state, n, batch_size, rank, world_size):
    seed, epoch, taken = state["seed"], state["epoch"], state["taken"]
    order = np.random.default_rng([seed, epoch]).permutation(n)
    batch = order[taken : taken + batch_size]
    taken += len(batch)
    if taken == n:
        epoch, taken = epoch + 1, 0
    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}
