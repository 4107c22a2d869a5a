# verdict: wrong, diagnosis: wrong_way
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.irecv(matrix, destination).wait()
    elif rank == destination:
        dist.isend(matrix, source).wait()
    return matrix
