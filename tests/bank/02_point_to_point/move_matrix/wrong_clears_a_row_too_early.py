# verdict: wrong, diagnosis: reused_buffer
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    if rank == source:
        matrix.fill_(value)
        request = dist.isend(matrix, destination)
        matrix[2].zero_()
        request.wait()
        matrix.zero_()
    elif rank == destination:
        dist.irecv(matrix, source).wait()
    return matrix
