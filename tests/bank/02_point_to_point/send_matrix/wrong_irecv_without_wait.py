# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        dist.irecv(matrix, source)
    return matrix
