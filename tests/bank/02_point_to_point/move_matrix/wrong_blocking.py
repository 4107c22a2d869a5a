# verdict: wrong, diagnosis: blocking
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, dst=destination)
        matrix.zero_()
    elif rank == destination:
        dist.recv(matrix, src=source)
    return matrix
