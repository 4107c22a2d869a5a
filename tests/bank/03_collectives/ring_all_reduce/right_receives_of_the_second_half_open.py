# verdict: passed
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    for step in range(p - 1):
        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p
        arrived = torch.empty_like(chunks[incoming])
        work = dist.isend(chunks[outgoing], right)
        dist.recv(arrived, left)
        work.wait()
        chunks[incoming] += arrived
    receives = [dist.irecv(chunks[(rank - step) % p], left) for step in range(p - 1)]
    for step in range(p - 1):
        outgoing = (rank + 1 - step) % p
        dist.isend(chunks[outgoing], right).wait()
        receives[step].wait()
    return torch.cat(chunks)
