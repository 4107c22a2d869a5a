# verdict: passed
import torch
import torch.distributed as dist


def training_batches(dataset, global_batch_size, epochs, seed):
    p, r = dist.get_world_size(), dist.get_rank()
    sampler = torch.utils.data.distributed.DistributedSampler(
        dataset, num_replicas=p, rank=r, shuffle=True, seed=seed, drop_last=False
    )
    result = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        loader = torch.utils.data.DataLoader(dataset, batch_size=int(global_batch_size / p), sampler=sampler)
        batches = []
        for batch in loader:
            batches.append(batch)
        result.append(batches)
    return result
