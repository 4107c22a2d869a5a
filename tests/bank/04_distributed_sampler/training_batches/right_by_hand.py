# verdict: passed
import torch
import torch.distributed as dist


def training_batches(dataset, global_batch_size, epochs, seed):
    p, r = dist.get_world_size(), dist.get_rank()
    local = global_batch_size // p
    seen = []
    for epoch in range(epochs):
        order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed + epoch)).tolist()
        while len(order) % p:
            order += order[: p - len(order) % p]
        own = order[r::p]
        seen.append([[dataset[i] for i in own[k : k + local]] for k in range(0, len(own), local)])
    return seen
