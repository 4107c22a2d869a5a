# verdict: wrong, diagnosis: state_in_place
import random


def next_batch(state, n, batch_size, rank, world_size):
    order = list(range(n))
    random.Random(f"{state['seed']}/{state['epoch']}").shuffle(order)
    first = state["taken"]
    last = min(n, first + batch_size)
    state["taken"] = last % n
    state["epoch"] += last == n
    state["ranks"] = world_size
    return [order[k] for k in range(first, last) if k % world_size == rank], state
