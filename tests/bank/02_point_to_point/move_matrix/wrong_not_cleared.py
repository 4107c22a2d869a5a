# verdict: wrong, diagnosis: not_cleared
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    request = None
    if rank == source:
        request = dist.isend(matrix, destination)
    elif rank == destination:
        request = dist.irecv(matrix, source)
    if request is not None:
        request.wait()
    return matrix
