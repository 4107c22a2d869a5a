# verdict: wrong, diagnosis: more_than_one_message
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    for row in matrix:
        if rank == source:
            dist.send(row, destination)
        elif rank == destination:
            dist.recv(row, source)
    return matrix
