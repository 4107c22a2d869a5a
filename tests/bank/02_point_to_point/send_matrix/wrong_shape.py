# verdict: wrong, diagnosis: wrong_shape
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((4, 3), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        dist.recv(matrix, source)
    return matrix
