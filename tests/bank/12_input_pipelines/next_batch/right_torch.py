# verdict: passed
import torch


def next_batch(state, n, batch_size, rank, world_size):
    generator = torch.Generator().manual_seed(state["seed"] * 100_003 + state["epoch"])
    left = torch.randperm(n, generator=generator)[state["taken"] :]
    batch = left[:batch_size]
    state = dict(state, taken=state["taken"] + len(batch))
    if len(left) <= batch_size:
        state.update(epoch=state["epoch"] + 1, taken=0)
    return torch.tensor_split(batch, world_size)[rank], state
