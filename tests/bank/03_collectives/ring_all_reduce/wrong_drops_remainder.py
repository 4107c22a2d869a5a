# verdict: wrong, diagnosis: drops_remainder
import torch
import torch.distributed as dist


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    size = len(x) // p
    result = x.clone()
    chunks = [result[i * size : (i + 1) * size] for i in range(p)]
    for step in range(p - 1):
        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p
        arrived = torch.empty_like(chunks[incoming])
        work = dist.isend(chunks[outgoing], (rank + 1) % p)
        dist.recv(arrived, (rank - 1) % p)
        work.wait()
        chunks[incoming] += arrived
    for step in range(p - 1):
        outgoing, incoming = (rank + 1 - step) % p, (rank - step) % p
        work = dist.isend(chunks[outgoing], (rank + 1) % p)
        dist.recv(chunks[incoming], (rank - 1) % p)
        work.wait()
    return result
