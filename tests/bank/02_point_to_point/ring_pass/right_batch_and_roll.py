# verdict: passed
import torch
import torch.distributed as dist


def shift(tensor):
    rank, p = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(tensor)
    pair = [
        dist.P2POp(dist.isend, tensor, (rank + 1) % p),
        dist.P2POp(dist.irecv, arrived, (rank - 1) % p),
    ]
    [request.wait() for request in dist.batch_isend_irecv(pair)]
    return arrived


def ring_pass(x):
    seen = [x]
    while len(seen) < dist.get_world_size():
        seen.append(shift(seen[-1]))
    # seen[s] started s ranks to the left
    return torch.stack(seen[::-1]).roll(dist.get_rank() + 1, dims=0)
