# verdict: wrong, diagnosis: computes_too_much
import torch
import torch.distributed as dist


def train_through(w, gradient, update, shards, steps):
    alive, group, step = list(range(dist.get_world_size())), None, 0
    while step < steps:
        gradients = [gradient(w, step, shard) for shard in range(shards)]
        try:
            dist.barrier(group=group)
        except dist.DistBackendError as gone:
            alive = [rank for rank in alive if rank not in gone.ranks]
            group = dist.new_group(alive)
            continue
        w, step = update(w, gradients), step + 1
    return w
