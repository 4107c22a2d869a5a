# verdict: passed
import torch
import torch.distributed as dist


def train_through(w, gradient, update, shards, steps):
    me, alive, group = dist.get_rank(), list(range(dist.get_world_size())), None
    for step in range(steps):
        known = {}
        while True:
            for shard in range(shards):
                if alive[shard % len(alive)] == me and shard not in known:
                    known[shard] = gradient(w, step, shard)
            table = torch.stack([
                known[s] if alive[s % len(alive)] == me else torch.zeros_like(w) for s in range(shards)
            ])
            try:
                dist.all_reduce(table, group=group)
                break
            except RuntimeError as gone:
                for rank in gone.ranks:
                    alive.remove(rank)
                group = dist.new_group(alive)
        w = update(w, list(table))
    return w
