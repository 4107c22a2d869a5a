# verdict: passed
# differs: The order says what to do, and the loop only does it: the same loop would run any other order.
import torch
import torch.distributed as dist


def one_f_one_b(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    kept, works, total = {}, [], 0.0
    for what, k in order_1f1b(rank, p, m):
        if what == "F":
            x = xs[k] if rank == 0 else torch.empty(shape, dtype=torch.float64)
            if rank > 0:
                dist.recv(x, rank - 1)
                x.requires_grad_()
            out = block(x)
            kept[k] = x, out
            if rank < p - 1:
                works.append(dist.isend(out.detach(), rank + 1))
        else:
            x, out = kept.pop(k)
            if rank == p - 1:
                loss = loss_of(out, ys[k]) / m
                total += loss.item()
                loss.backward()
            else:
                g = torch.empty(shape, dtype=torch.float64)
                dist.recv(g, rank + 1)
                out.backward(g)
            if rank > 0:
                works.append(dist.isend(x.grad, rank - 1))
    for work in works:
        work.wait()
    return total if rank == p - 1 else None
