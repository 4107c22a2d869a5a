# verdict: wrong, diagnosis: needless_barrier
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    if rank == source:
        matrix[...] = value
        dist.send(matrix, destination)
    elif rank == destination:
        dist.recv(matrix, source)
    dist.barrier()
    return matrix
