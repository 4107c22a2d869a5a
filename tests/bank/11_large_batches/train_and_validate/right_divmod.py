# verdict: passed
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    size, rest = divmod(n, p)
    start = rank * size + min(rank, rest)
    mine = range(start, start + size + (rank < rest))
    found = []
    for k in range(1, steps + 1):
        step(k - 1)
        if not k % every:
            count = torch.zeros(1, dtype=torch.float64)
            if len(mine):
                count += correct(mine.start, mine.stop)
            found.append((count, dist.all_reduce(count, async_op=True)))
    for _, work in found:
        work.wait()
    return [float(count) / n for count, _ in found]
