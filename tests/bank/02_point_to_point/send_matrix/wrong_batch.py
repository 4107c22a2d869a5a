# verdict: wrong, diagnosis: not_blocking
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.full((3, 4), value if rank == source else 0.0)
    operations = []
    if rank == source:
        operations.append(dist.P2POp(dist.isend, matrix, destination))
    if rank == destination:
        operations.append(dist.P2POp(dist.irecv, matrix, source))
    if operations:
        for request in dist.batch_isend_irecv(operations):
            request.wait()
    return matrix
