# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    for step in range(p - 1):
        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p
        arrived = torch.empty_like(chunks[incoming])
        works = [dist.irecv(arrived, left), dist.isend(chunks[outgoing], right)]
        chunks[incoming] += arrived
        for work in works:
            work.wait()
    for step in range(p - 1):
        outgoing, incoming = (rank + 1 - step) % p, (rank - step) % p
        work = dist.isend(chunks[outgoing], right)
        dist.recv(chunks[incoming], left)
        work.wait()
    return torch.cat(chunks)
