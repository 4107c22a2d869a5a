# verdict: wrong, diagnosis: batches_not_apart
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def training_batches(dataset, global_batch_size, epochs, seed):
    sampler = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler)
    seen = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        seen.append([])
        for batch in loader:
            seen[-1].extend(batch.tolist())
    return seen
