# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    if rank == source:
        matrix.fill_(value)
        dist.isend(matrix, destination).wait()
        matrix.zero_()
    elif rank == destination:
        request = dist.irecv(matrix, source)
        copy = matrix.clone()
        request.wait()
        return copy
    return matrix
