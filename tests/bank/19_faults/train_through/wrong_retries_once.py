# verdict: raised, diagnosis: RankGone
import torch
import torch.distributed as dist


def train_through(w, gradient, update, shards, steps):
    alive, group = list(range(dist.get_world_size())), None

    def table_of(step):
        table = torch.zeros(shards, len(w), dtype=w.dtype)
        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
            table[shard] = gradient(w, step, shard)
        return table

    for step in range(steps):
        table = table_of(step)
        try:
            dist.all_reduce(table, group=group)
        except dist.DistBackendError as gone:
            alive = [rank for rank in alive if rank not in gone.ranks]
            group = dist.new_group(alive)
            table = table_of(step)
            dist.all_reduce(table, group=group)
        w = update(w, table)
    return w
