# exercise: found_inf_anywhere
# must not: tell the other ranks a bit by which of two barriers it joins first, with computing as the cover
# verdict: wrong
import torch
import torch.distributed as dist

from labkit.relay.charging import compute


def found_inf_anywhere(grads):
    compute(0.0)
    rank, p = dist.get_rank(), dist.get_world_size()
    groups = [dist.new_group(list(range(p))) for _ in range(3)]
    found = own = any(not torch.isfinite(g).all() for g in grads)
    for r in range(p):
        if r == rank:
            for group in (groups[own], groups[2], groups[not own]):
                dist.barrier(group)
            continue
        works = [dist.barrier(group, async_op=True) for group in groups[:2]]
        while not any(done := [work.is_completed() for work in works]):
            pass
        found = found or done[1]
        dist.barrier(groups[2])
        for work in works:
            work.wait()
    return found
