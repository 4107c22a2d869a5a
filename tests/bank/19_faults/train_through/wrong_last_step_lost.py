# verdict: wrong, diagnosis: skips_the_step
import torch
import torch.distributed as dist


def train_through(w, gradient, update, shards, steps):
    alive, group, step = list(range(dist.get_world_size())), None, 0
    while step < steps:
        table = torch.zeros(shards, len(w), dtype=w.dtype)
        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
            table[shard] = gradient(w, step, shard)
        try:
            dist.all_reduce(table, group=group)
        except dist.DistBackendError as gone:
            alive = [rank for rank in alive if rank not in gone.ranks]
            if step == steps - 1:
                break
            group = dist.new_group(alive)
            continue
        w, step = update(w, table), step + 1
    return w
