# verdict: passed
# differs: A new sampler in every epoch, seeded with seed + epoch, which is what `set_epoch` comes to.
from torch.utils.data import DataLoader, DistributedSampler
import torch.distributed as dist


def training_batches(dataset, global_batch_size, epochs, seed):
    return [
        [b.tolist() for b in DataLoader(dataset, global_batch_size // dist.get_world_size(), sampler=DistributedSampler(dataset, seed=seed + e))]
        for e in range(epochs)
    ]
