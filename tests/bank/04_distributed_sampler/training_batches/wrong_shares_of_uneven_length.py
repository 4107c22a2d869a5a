# verdict: wrong, diagnosis: uneven_shares
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Subset


def training_batches(dataset, global_batch_size, epochs, seed):
    p, r = dist.get_world_size(), dist.get_rank()
    seen = []
    for epoch in range(epochs):
        order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed + epoch)).tolist()
        loader = DataLoader(Subset(dataset, order[r::p]), batch_size=global_batch_size // p)
        seen.append([batch.tolist() for batch in loader])
    return seen
