# verdict: passed
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    requests = []
    matrix = torch.zeros(3, 4)
    if rank == source:
        requests += [dist.isend(torch.full((3, 4), value), destination)]
    if rank == destination:
        requests += [dist.irecv(matrix, source)]
    [r.wait() for r in requests]
    return matrix
