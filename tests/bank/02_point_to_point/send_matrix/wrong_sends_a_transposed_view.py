# verdict: raised, diagnosis: RuntimeError
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    columns = torch.zeros(4, 3)
    matrix = columns.t()
    if rank == source:
        matrix += value
        dist.send(matrix, destination)
    if rank == destination:
        dist.recv(matrix, source)
    return matrix
