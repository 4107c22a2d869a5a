# verdict: wrong, diagnosis: set_epoch_late
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def training_batches(dataset, global_batch_size, epochs, seed):
    sampler = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
    seen = []
    for epoch in range(epochs):
        seen.append([batch.tolist() for batch in loader])
        sampler.set_epoch(epoch)
    return seen
