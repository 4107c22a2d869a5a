# verdict: wrong, diagnosis: epochs_not_apart
from torch.utils.data import DataLoader, DistributedSampler
import torch.distributed as dist


def training_batches(dataset, global_batch_size, epochs, seed):
    s = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=s)
    out, batches = [], []
    for e in range(epochs):
        s.set_epoch(e)
        batches.clear()
        batches.extend(loader)
        out.append(batches)
    return out
