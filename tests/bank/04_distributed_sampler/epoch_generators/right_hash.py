# verdict: passed
import hashlib

import torch


def generator(*what):
    digest = hashlib.sha256(repr(what).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:6], "little"))


def epoch_generators(seed, epoch, rank, world_size):
    return generator("order", seed, epoch), generator("noise", seed, epoch, rank)
