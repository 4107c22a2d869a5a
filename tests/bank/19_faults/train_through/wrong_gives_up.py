# verdict: raised, diagnosis: RankGone
import torch
import torch.distributed as dist


def train_through(w, gradient, update, shards, steps):
    alive, group = list(range(dist.get_world_size())), None
    step = 0
    while step < steps:
        table = torch.zeros(shards, len(w), dtype=w.dtype)
        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
            table[shard] = gradient(w, step, shard)
        dist.all_reduce(table, group=group)
        w = update(w, table)
        step += 1
    return w
