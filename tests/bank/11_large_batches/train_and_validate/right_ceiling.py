# verdict: passed
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    size = -(-n // p)
    start, stop = min(rank * size, n), min((rank + 1) * size, n)
    counts = []
    for k in range(steps):
        step(k)
        if k % every == every - 1:
            own = torch.tensor(float(correct(start, stop)), dtype=torch.float64)
            every_count = [torch.empty_like(own) for _ in range(p)]
            dist.all_gather(every_count, own)
            counts.append(sum(every_count).item())
    return [count / n for count in counts]
