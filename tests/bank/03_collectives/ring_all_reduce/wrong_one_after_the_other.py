# verdict: wrong, diagnosis: one_after_the_other
import torch
import torch.distributed as dist


def pass_on(outgoing, arrived):
    rank, p = dist.get_rank(), dist.get_world_size()
    if rank == 0:  # somebody has to begin
        dist.send(outgoing, 1)
        dist.recv(arrived, p - 1)
    else:
        dist.recv(arrived, rank - 1)
        dist.send(outgoing, (rank + 1) % p)


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    for step in range(p - 1):
        outgoing, incoming = (rank - step) % p, (rank - step - 1) % p
        arrived = torch.empty_like(chunks[incoming])
        pass_on(chunks[outgoing], arrived)
        chunks[incoming] += arrived
    for step in range(p - 1):
        pass_on(chunks[(rank + 1 - step) % p], chunks[(rank - step) % p])
    return torch.cat(chunks)
