# verdict: passed
import torch.nn.functional as F


def shard(flat, rank, p):
    padded = F.pad(flat, (0, -len(flat) % p))
    return padded.chunk(p)[rank].clone()
