# verdict: wrong, diagnosis: not_received
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.isend(matrix, destination).wait()
    elif rank == destination:
        dist.irecv(matrix, source).wait()
    return matrix.zero_()
