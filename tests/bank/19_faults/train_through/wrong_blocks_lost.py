# verdict: wrong, diagnosis: loses_the_shards
import torch
import torch.distributed as dist


def train_through(w, gradient, update, shards, steps):
    alive, group = list(range(dist.get_world_size())), None
    step = 0
    while step < steps:
        table = torch.zeros(shards, len(w), dtype=w.dtype)
        low, high = (shards * r // dist.get_world_size() for r in (dist.get_rank(), dist.get_rank() + 1))
        for shard in range(low, high):
            table[shard] = gradient(w, step, shard)
        try:
            dist.all_reduce(table, group=group)
        except dist.DistBackendError as gone:
            alive = [rank for rank in alive if rank not in gone.ranks]
            group = dist.new_group(alive)
            continue
        w = update(w, table)
        step += 1
    return w
