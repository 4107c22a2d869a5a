# verdict: wrong, diagnosis: zero_to_one
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    if rank == 0:
        matrix.fill_(value)
        dist.isend(matrix, 1).wait()
        matrix.zero_()
    elif rank == 1:
        dist.irecv(matrix, 0).wait()
    return matrix
