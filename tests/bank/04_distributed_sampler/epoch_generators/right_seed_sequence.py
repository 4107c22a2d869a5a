# verdict: passed
import numpy as np
import torch


def epoch_generators(seed, epoch, rank, world_size):
    order, noise = torch.Generator(), torch.Generator()
    order.manual_seed(int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0]))
    noise.manual_seed(int(np.random.SeedSequence([seed, epoch, rank + 1]).generate_state(1)[0]))
    return order, noise
