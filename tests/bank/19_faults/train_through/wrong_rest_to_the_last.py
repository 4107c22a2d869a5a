# verdict: wrong, diagnosis: dealt_unevenly
import torch
import torch.distributed as dist
def train_through(w, gradient, update, shards, steps):
    alive, group, step = list(range(dist.get_world_size())), None, 0
    w = w.clone()
    me = dist.get_rank()
    while step < steps:
        table = torch.zeros(shards, *w.shape, dtype=w.dtype)
        k = alive.index(me)
        for s in range(k * (shards // len(alive)), (k + 1) * (shards // len(alive)) if k < len(alive) - 1 else shards):
            table[s] = gradient(w, step, s)
        try:
            dist.all_reduce(table, group=group)
        except dist.DistBackendError as gone:
            alive = [r for r in alive if r not in gone.ranks]
            group = dist.new_group(alive)
            continue
        w = update(w, table)
        step += 1
    return w
