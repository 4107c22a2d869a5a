# verdict: wrong, diagnosis: uses_collective
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    request = dist.broadcast(matrix, source, async_op=True)
    request.wait()
    if rank != destination:
        matrix.zero_()
    return matrix
