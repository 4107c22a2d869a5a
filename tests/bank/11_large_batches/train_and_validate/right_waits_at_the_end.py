# verdict: passed
# differs: The sums are waited for after the training, so no validation holds up the next step.
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    open_ = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            c = torch.tensor(correct(rank * n // p, (rank + 1) * n // p))
            open_.append((c, dist.all_reduce(c, async_op=True)))
    out = []
    for c, request in open_:
        request.wait()
        out.append(c.item() / n)
    return out
