# verdict: wrong, diagnosis: everybody_sees_everything
import torch.distributed as dist
from torch.utils.data import DataLoader


def training_batches(dataset, global_batch_size, epochs, seed):
    loader = DataLoader(dataset, batch_size=global_batch_size // dist.get_world_size(), shuffle=True)
    return [[batch.tolist() for batch in loader] for epoch in range(epochs)]
