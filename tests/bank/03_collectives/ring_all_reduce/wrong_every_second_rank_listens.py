# verdict: wrong, diagnosis: takes_turns
import torch
import torch.distributed as dist


def step(outgoing, incoming):
    rank, p = dist.get_rank(), dist.get_world_size()
    calls = [lambda: dist.send(outgoing, (rank + 1) % p), lambda: dist.recv(incoming, (rank - 1) % p)]
    for call in calls if rank % 2 else reversed(calls):
        call()


def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    for s in range(p - 1):
        arrived = torch.empty_like(chunks[(rank - s - 1) % p])
        step(chunks[(rank - s) % p], arrived)
        chunks[(rank - s - 1) % p] += arrived
    for s in range(p - 1):
        step(chunks[(rank + 1 - s) % p], chunks[(rank - s) % p])
    return torch.cat(chunks)
