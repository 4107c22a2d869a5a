# verdict: wrong, diagnosis: padded_by_one_too_many
import torch


def shard(flat, rank, p):
    padded = torch.cat([flat, flat.new_zeros(p - len(flat) % p)])
    return padded.view(p, -1)[rank]
