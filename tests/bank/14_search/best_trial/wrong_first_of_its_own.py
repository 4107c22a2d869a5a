# verdict: wrong, diagnosis: first_rank_of_equals
import torch
import torch.distributed as dist
def best_trial(numbers, validation, test):
    rows = [(v, i, t) for i, v, t in zip(numbers.tolist(), validation.tolist(), test.tolist()) if v == v]
    v, i, t = min(rows, key=lambda q: q[0], default=(0.0, -1, 0.0))
    mine = torch.tensor([v, t], dtype=torch.float64)
    num = torch.tensor([i], dtype=torch.int64)
    p = dist.get_world_size()
    vs = [torch.zeros(2, dtype=torch.float64) for _ in range(p)]
    ns = [torch.zeros(1, dtype=torch.int64) for _ in range(p)]
    dist.all_gather(vs, mine)
    dist.all_gather(ns, num)
    found = [(a[0].item(), b.item(), a[1].item()) for a, b in zip(vs, ns) if b.item() >= 0]
    if not found:
        raise ValueError("no rank has a trial with a loss")
    v, i, t = min(found, key=lambda q: q[:2])
    return i, t
