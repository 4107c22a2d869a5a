# verdict: wrong, diagnosis: everybody_has_it
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = value * torch.ones(3, 4)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        dist.recv(matrix, source)
    return matrix
