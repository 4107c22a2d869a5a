# verdict: wrong, diagnosis: wrong_way
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.recv(matrix, src=destination)
    elif rank == destination:
        dist.send(matrix, dst=source)
    return matrix
