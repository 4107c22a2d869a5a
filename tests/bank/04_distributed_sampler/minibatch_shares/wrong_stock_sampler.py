# verdict: wrong, diagnosis: stock_then_cut
from torch.utils.data import BatchSampler, DistributedSampler


def minibatch_shares(order, batch_size, rank, world_size):
    sampler = DistributedSampler(order, world_size, rank, shuffle=False)
    local = -(-batch_size // world_size)
    return [[order[i] for i in ids] for ids in BatchSampler(sampler, local, drop_last=False)]
