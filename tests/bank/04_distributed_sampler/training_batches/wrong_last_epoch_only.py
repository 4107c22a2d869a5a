# verdict: wrong, diagnosis: last_epoch_only
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def training_batches(dataset, global_batch_size, epochs, seed):
    sampler = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
    for epoch in range(epochs):
        seen = []
        sampler.set_epoch(epoch)
        seen.append([batch.tolist() for batch in loader])
    return seen
