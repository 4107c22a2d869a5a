# verdict: wrong, diagnosis: reused_buffer
import torch
import torch.distributed as dist


def one_f_one_b(block, loss_of, xs, ys, m, shape):
    rank, p = dist.get_rank(), dist.get_world_size()
    kept, works, losses = [], [], []
    buffer = torch.empty(*shape, dtype=torch.double)

    def forward(k):
        if rank == 0:
            x = xs[k]
        else:
            x = buffer
            dist.irecv(x, rank - 1).wait()
            x.requires_grad = True
        out = block(x)
        if rank < p - 1:
            works.append(dist.isend(out.detach(), rank + 1))
        kept.append((x, out))

    def backward(k):
        x, out = kept.pop(0)
        if rank == p - 1:
            loss = loss_of(out, ys[k])
            losses.append(loss.item())
            loss.backward(torch.tensor(1 / m, dtype=loss.dtype))
        else:
            g = torch.empty_like(out)
            dist.recv(g, rank + 1)
            out.backward(g)
        if rank > 0:
            works.append(dist.isend(x.grad, rank - 1))

    warm = min(p - 1 - rank, m)
    for k in range(warm):
        forward(k)
    for k in range(m - warm):
        forward(warm + k)
        backward(k)
    for k in range(m - warm, m):
        backward(k)
    for work in works:
        work.wait()
    if rank == p - 1:
        return sum(losses) / m
