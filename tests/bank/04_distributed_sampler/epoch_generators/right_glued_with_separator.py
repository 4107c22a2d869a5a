# verdict: passed
import hashlib

import torch


def epoch_generators(seed, epoch, rank, world_size):
    def made(text):
        return torch.Generator().manual_seed(int(hashlib.md5(text.encode()).hexdigest()[:15], 16))

    return made(f"order/{seed}/{epoch}"), made(f"noise/{seed}/{epoch}/{rank}")
