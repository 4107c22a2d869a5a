# verdict: passed
# differs: The rows of all ranks are gathered in blocks, in place of adding tables of zeros: fewer bytes, the same order of the sum.
import torch
import torch.distributed as dist


def train_through(w, gradient, update, shards, steps):
    alive = list(range(dist.get_world_size()))
    group = dist.new_group(alive)
    step = 0
    while step < steps:
        place, share = alive.index(dist.get_rank()), -(-shards // len(alive))
        mine = torch.zeros(share, len(w), dtype=w.dtype)
        for k, shard in enumerate(range(place * share, min(shards, (place + 1) * share))):
            mine[k] = gradient(w, step, shard)
        parts = [torch.zeros_like(mine) for _ in alive]
        try:
            dist.all_gather(parts, mine, group=group)
            w, step = update(w, torch.cat(parts)[:shards]), step + 1
        except dist.DistBackendError as gone:
            alive = sorted(set(alive) - set(gone.ranks))
            group = dist.new_group(alive)
    return w
