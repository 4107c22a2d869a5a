# verdict: passed
import random


def next_batch(state, n, batch_size, rank, world_size):
    order = list(range(n))
    random.Random(f"{state['seed']}/{state['epoch']}").shuffle(order)
    first = state["taken"]
    last = min(n, first + batch_size)
    after = dict(state, taken=last % n, ranks=world_size)
    after["epoch"] += last == n
    return [order[k] for k in range(first, last) if k % world_size == rank], after
