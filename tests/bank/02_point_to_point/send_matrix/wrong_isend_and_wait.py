# verdict: wrong, diagnosis: not_blocking
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.isend(matrix, dst=destination).wait()
    elif rank == destination:
        dist.irecv(matrix, src=source).wait()
    return matrix
