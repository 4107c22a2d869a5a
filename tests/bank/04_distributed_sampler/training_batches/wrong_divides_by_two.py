# verdict: wrong, diagnosis: other_batch_size
from torch.utils.data import DataLoader, DistributedSampler


def training_batches(dataset, global_batch_size, epochs, seed):
    sampler = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=global_batch_size // 2, sampler=sampler)
    seen = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        seen.append([batch.tolist() for batch in loader])
    return seen
