# verdict: passed
import torch
import torch.distributed as dist


def halving_doubling(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    q = 1 << (p.bit_length() - 1)
    v = x.clone()
    if rank >= q:
        dist.send(x, rank - q)
        dist.recv(v, rank - q)
        return v
    if rank + q < p:
        got = torch.empty_like(x)
        dist.recv(got, rank + q)
        v += got

    def swap(out, into, peer):
        ops = [dist.P2POp(dist.isend, out.contiguous(), peer), dist.P2POp(dist.irecv, into, peer)]
        for request in dist.batch_isend_irecv(ops):
            request.wait()

    piece, d, todo = v, q // 2, []
    while d:
        low, high = piece.tensor_split(2)
        keep, give = (high, low) if rank & d else (low, high)
        got = torch.empty_like(keep)
        swap(give, got, rank ^ d)
        keep += got
        todo.append((keep, give, d))
        piece = keep
        d //= 2
    for keep, give, d in reversed(todo):
        swap(keep, give, rank ^ d)
    if rank + q < p:
        dist.send(v, rank + q)
    return v
