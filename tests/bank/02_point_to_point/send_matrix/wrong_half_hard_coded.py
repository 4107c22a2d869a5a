# verdict: wrong, diagnosis: zero_to_one
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    if rank == source:
        matrix.fill_(value)
    if rank == 0:
        dist.send(matrix, 1)
    if rank == 1:
        dist.recv(matrix, 0)
    return matrix
