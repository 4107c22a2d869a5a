# verdict: wrong, diagnosis: reused_buffer
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
        chunks[outgoing].zero_()
        dist.recv(arrived, left)
        work.wait()
        chunks[incoming] += arrived
    for step in range(p - 1):
        outgoing, incoming = (rank + 1 - step) % p, (rank - step) % p
        work = dist.isend(chunks[outgoing], right)
        dist.recv(chunks[incoming], left)
        work.wait()
    return torch.cat(chunks)
