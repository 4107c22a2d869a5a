# verdict: wrong, diagnosis: other_batch_size
from torch.utils.data import DataLoader, DistributedSampler


def training_batches(dataset, global_batch_size, epochs, seed):
    s = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(dataset, batch_size=max(1, global_batch_size // 4), sampler=s)
    out = []
    for e in range(epochs):
        s.set_epoch(e)
        out.append(list(loader))
    return out
