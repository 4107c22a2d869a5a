# verdict: wrong, diagnosis: streams_meet
import torch


def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch), torch.Generator().manual_seed(int(f"{seed}{epoch}{rank}"))
