# verdict: wrong, diagnosis: not_a_ring
import torch
import torch.distributed as dist


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]
    mine = chunks[rank].clone()
    others = [r for r in range(p) if r != rank]
    works = [dist.isend(chunks[r], r) for r in others]
    for r in others:
        arrived = torch.empty_like(mine)
        dist.recv(arrived, r)
        mine += arrived
    for work in works:
        work.wait()
    works = [dist.isend(mine, r) for r in others]
    for r in others:
        dist.recv(chunks[r], r)
    for work in works:
        work.wait()
    chunks[rank] = mine
    return torch.cat(chunks)
