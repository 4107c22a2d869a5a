# verdict: hung, diagnosis: missing_rank
import torch
import torch.distributed as dist


def train_through(w, gradient, update, shards, steps):
    alive = list(range(dist.get_world_size()))
    me = dist.get_rank()
    group = None
    step = 0
    while step < steps:
        if alive.index(me) >= shards:
            return w
        table = torch.zeros(shards, *w.shape, dtype=w.dtype)
        for s in range(alive.index(me), shards, len(alive)):
            table[s] = gradient(w, step, s)
        try:
            dist.all_reduce(table, group=group)
        except dist.DistBackendError as gone:
            while True:
                alive = [r for r in alive if r not in gone.ranks]
                try:
                    group = dist.new_group(alive, use_local_synchronization=True)
                    break
                except dist.DistBackendError as again:
                    gone = again
            continue
        w = update(w, table)
        step += 1
    return w.clone() if steps == 0 else w
