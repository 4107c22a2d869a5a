# verdict: wrong, diagnosis: one_buffer
import torch
import torch.distributed as dist


def one_f_one_b(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    kept, requests, total = {}, [], 0.0
    received = torch.empty(shape, dtype=torch.float64)
    for what, k in order_1f1b(rank, p, m):
        if what == "F":
            if rank == 0:
                x = xs[k]
            else:
                dist.recv(received, rank - 1)
                x = received.detach().requires_grad_()
            out = block(x)
            kept[k] = x, out
            if rank < p - 1:
                requests.append(dist.isend(out.detach(), rank + 1))
            continue
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
            requests.append(dist.isend(x.grad, rank - 1))
    for request in requests:
        request.wait()
    return total if rank == p - 1 else None
