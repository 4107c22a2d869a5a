# verdict: wrong, diagnosis: reused_buffer
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        request = dist.isend(matrix, destination)
        matrix.zero_()
        while not request.is_completed():
            pass
    elif rank == destination:
        dist.irecv(matrix, source).wait()
    return matrix
