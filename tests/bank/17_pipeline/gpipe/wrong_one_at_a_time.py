# verdict: wrong, diagnosis: one_at_a_time
import torch
import torch.distributed as dist


def gpipe(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    total = 0.0
    for k in range(m):
        x = xs[k] if rank == 0 else torch.empty(shape, dtype=torch.float64)
        if rank > 0:
            dist.recv(x, rank - 1)
            x.requires_grad_()
        out = block(x)
        if rank < p - 1:
            dist.send(out.detach(), rank + 1)
            g = torch.empty(shape, dtype=torch.float64)
            dist.recv(g, rank + 1)
            out.backward(g)
        else:
            loss = loss_of(out, ys[k]) / m
            total += loss.item()
            loss.backward()
        if rank > 0:
            dist.send(x.grad, rank - 1)
    return total if rank == p - 1 else None
