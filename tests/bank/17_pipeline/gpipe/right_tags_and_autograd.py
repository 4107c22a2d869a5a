# verdict: passed
import torch
import torch.distributed as dist


def gpipe(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    first, last = rank == 0, rank == p - 1
    coming = [None if first else torch.zeros(shape, dtype=torch.float64) for _ in range(m)]
    requests = [] if first else [dist.irecv(x, rank - 1, tag=k) for k, x in enumerate(coming)]
    gradients = [None if last else torch.zeros(shape, dtype=torch.float64) for _ in range(m)]
    losses, kept, sent = [], [], []
    back = [] if last else [dist.irecv(g, rank + 1, tag=m + k) for k, g in enumerate(gradients)]
    for k in range(m):
        if not first:
            requests[k].wait()
        x = xs[k] if first else coming[k].requires_grad_(True)
        y = block(x)
        kept.append((x, y))
        if last:
            losses.append(loss_of(y, ys[k]) / m)
        else:
            sent.append(dist.isend(y.detach().clone(), rank + 1, tag=k))
    for k, (x, y) in enumerate(kept):
        if last:
            torch.autograd.backward(losses[k])
        else:
            back[k].wait()
            torch.autograd.backward(y, gradients[k])
        if not first:
            sent.append(dist.isend(x.grad, rank - 1, tag=m + k))
    [one.wait() for one in sent]
    return sum(losses).item() if last else None
