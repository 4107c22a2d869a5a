# verdict: wrong, diagnosis: not_one_order
import random


def next_batch(state, n, batch_size, rank, world_size):
    seed, epoch, taken = state["seed"], state["epoch"], state["taken"]
    order = list(range(n))
    random.Random(hash(f"{seed}/{epoch}")).shuffle(order)
    batch = order[taken : taken + batch_size]
    taken += len(batch)
    if taken == n:
        epoch, taken = epoch + 1, 0
    return batch[rank::world_size], {"seed": seed, "epoch": epoch, "taken": taken}
