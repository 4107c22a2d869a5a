# verdict: wrong, diagnosis: computes_too_much
import torch
import torch.distributed as dist


def train_through(w, gradient, update, shards, steps):
    alive, group = list(range(dist.get_world_size())), None
    step, first = 0, w
    while step < steps:
        table = torch.zeros(shards, len(w), dtype=w.dtype)
        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
            table[shard] = gradient(w, step, shard)
        try:
            dist.all_reduce(table, group=group)
        except dist.DistBackendError as gone:
            alive = [rank for rank in alive if rank not in gone.ranks]
            group = dist.new_group(alive)
            step, w = 0, first
            continue
        w = update(w, table)
        step += 1
    return w
