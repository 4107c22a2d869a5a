# verdict: passed
import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler


def training_batches(dataset, global_batch_size, epochs, seed):
    sampler = DistributedSampler(dataset, seed=seed)
    cut = BatchSampler(sampler, global_batch_size // dist.get_world_size(), drop_last=False)
    loader = DataLoader(dataset, batch_sampler=cut)
    seen = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        seen.append(list(loader))
    return seen
