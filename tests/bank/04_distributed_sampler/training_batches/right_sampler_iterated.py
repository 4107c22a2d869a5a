# verdict: passed
from torch.utils.data import BatchSampler, DistributedSampler
import torch.distributed as dist


def training_batches(dataset, global_batch_size, epochs, seed):
    p = dist.get_world_size()
    sampler = DistributedSampler(dataset, num_replicas=p, rank=dist.get_rank(), seed=seed, shuffle=True, drop_last=False)
    def epoch(e):
        sampler.set_epoch(e)
        for ids in BatchSampler(sampler, global_batch_size // p, False):
            yield [dataset[i] for i in ids]
    return [list(epoch(e)) for e in range(epochs)]
