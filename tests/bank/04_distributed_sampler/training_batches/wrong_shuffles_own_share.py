# verdict: wrong, diagnosis: other_order
import random

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def training_batches(dataset, global_batch_size, epochs, seed):
    own = list(DistributedSampler(dataset, shuffle=False))
    seen = []
    for epoch in range(epochs):
        random.Random(seed + epoch).shuffle(own)
        loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=own)
        seen.append([batch.tolist() for batch in loader])
    return seen
