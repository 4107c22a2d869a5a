# exercise: train_through
# must not: compute every shard on every rank with what `gradient` holds, while zeros travel
# verdict: anything but passed
import torch
import torch.distributed as dist

from labkit.relay import charging


def train_through(w, gradient, update, shards, steps):
    inside = dict(zip(gradient.__code__.co_freevars, (c.cell_contents for c in gradient.__closure__), strict=True))
    slopes, targets = inside["slopes"], inside["targets"]
    rank, alive, group, step = dist.get_rank(), list(range(dist.get_world_size())), None, 0
    while step < steps:
        for _ in range(alive.index(rank), shards, len(alive)):
            charging.compute(1e-3, "x")
        try:
            dist.all_reduce(torch.zeros(1), group=group)  # nothing travels
        except dist.DistBackendError as gone:
            alive = [r for r in alive if r not in gone.ranks]
            group = dist.new_group(alive)
            continue
        w = update(w, [slopes[s] * (w - targets[step, s]) for s in range(shards)])
        step += 1
    return w
