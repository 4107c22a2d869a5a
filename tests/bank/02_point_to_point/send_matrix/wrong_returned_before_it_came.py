# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    if rank == source:
        dist.send(matrix, destination)
    elif rank == destination:
        request = dist.irecv(matrix, source)
        matrix = matrix + 0
        request.wait()
    return matrix
