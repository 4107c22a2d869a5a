# verdict: wrong, diagnosis: uses_collective
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    message = matrix.clone()
    dist.broadcast(message, src=source)
    return message if rank == destination else matrix
