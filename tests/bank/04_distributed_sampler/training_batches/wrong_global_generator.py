# verdict: wrong, diagnosis: other_order
import torch
from torch.utils.data import DataLoader, DistributedSampler
import torch.distributed as dist


def training_batches(dataset, global_batch_size, epochs, seed):
    torch.manual_seed(seed)
    rank, p = dist.get_rank(), dist.get_world_size()
    out = []
    for e in range(epochs):
        order = torch.randperm(len(dataset)).tolist()
        order += order[: -len(order) % p]
        mine = order[rank::p]
        k = global_batch_size // p
        out.append([torch.tensor([dataset[i] for i in mine[s : s + k]]) for s in range(0, len(mine), k)])
    return out
