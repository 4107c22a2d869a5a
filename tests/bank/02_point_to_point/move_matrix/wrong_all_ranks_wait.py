# verdict: raised, diagnosis: UnboundLocalError
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        request = dist.isend(matrix, destination)
    elif rank == destination:
        request = dist.irecv(matrix, source)
    request.wait()
    if rank == source:
        matrix.zero_()
    return matrix
