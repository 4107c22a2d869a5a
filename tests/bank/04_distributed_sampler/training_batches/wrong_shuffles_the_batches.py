# verdict: wrong, diagnosis: other_order
from torch.utils.data import DataLoader, DistributedSampler
import random
import torch.distributed as dist


def training_batches(dataset, global_batch_size, epochs, seed):
    s = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=s)
    out = []
    for e in range(epochs):
        s.set_epoch(e)
        batches = list(loader)
        random.Random(e).shuffle(batches)
        out.append(batches)
    return out
