# verdict: wrong, diagnosis: streams_meet
import torch


def epoch_generators(seed, epoch, rank, world_size):
    order, noise = torch.Generator(), torch.Generator()
    order.manual_seed(seed + epoch)
    noise.manual_seed(1_000_000 * (seed + 1) + 1000 * epoch + rank)
    return order, noise
