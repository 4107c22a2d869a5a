# verdict: wrong, diagnosis: every_pth
import torch


def shard(flat, rank, p):
    padded = torch.cat([flat, flat.new_zeros(-len(flat) % p)])
    return padded[rank::p]
