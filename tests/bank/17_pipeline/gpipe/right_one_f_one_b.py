# verdict: passed
import torch
import torch.distributed as dist


def gpipe(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    kept, works, total, forward, backward = {}, [], 0.0, 0, 0
    while backward < m:
        if forward < m and forward - backward < p - rank:
            x = xs[forward] if rank == 0 else torch.empty(shape, dtype=torch.float64)
            if rank:
                dist.recv(x, rank - 1)
                x.requires_grad_()
            kept[forward] = x, block(x)
            if rank < p - 1:
                works.append(dist.isend(kept[forward][1].detach(), rank + 1))
            forward += 1
        else:
            x, out = kept.pop(backward)
            if rank == p - 1:
                loss = loss_of(out, ys[backward]) / m
                total += float(loss)
                loss.backward()
            else:
                g = torch.empty(shape, dtype=torch.float64)
                dist.recv(g, rank + 1)
                out.backward(g)
            if rank:
                works.append(dist.isend(x.grad, rank - 1))
            backward += 1
    for work in works:
        work.wait()
    return total if rank == p - 1 else None
