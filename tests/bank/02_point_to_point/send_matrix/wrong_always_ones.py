# verdict: wrong, diagnosis: always_ones
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.ones(3, 4) if rank == source else torch.zeros(3, 4)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        dist.recv(matrix, source)
    return matrix
