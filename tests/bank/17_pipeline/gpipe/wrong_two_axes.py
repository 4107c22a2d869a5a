# verdict: hung, diagnosis: mismatched_shape
import torch
import torch.distributed as dist


def gpipe(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    inputs, outs, works, total = [], [], [], 0.0
    for k in range(m):
        if rank == 0:
            x = xs[k]
        else:
            x = torch.empty(shape[0], shape[1], dtype=torch.float64)
            dist.recv(x, rank - 1)
            x.requires_grad_()
        out = block(x)
        if rank < p - 1:
            works.append(dist.isend(out.detach(), rank + 1))
        inputs.append(x)
        outs.append(out)
    for k in range(m):
        if rank == p - 1:
            loss = loss_of(outs[k], ys[k]) / m
            total += loss.item()
            loss.backward()
        else:
            g = torch.empty(shape[0], shape[1], dtype=torch.float64)
            dist.recv(g, rank + 1)
            outs[k].backward(g)
        if rank > 0:
            works.append(dist.isend(inputs[k].grad, rank - 1))
    for work in works:
        work.wait()
    return total if rank == p - 1 else None
