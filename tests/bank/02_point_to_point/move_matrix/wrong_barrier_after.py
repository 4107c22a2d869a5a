# verdict: wrong, diagnosis: needless_barrier
import torch
import torch.distributed as dist


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    matrix = torch.zeros(3, 4)
    operations = []
    if rank == source:
        matrix += value
        operations.append(dist.P2POp(dist.isend, matrix, destination))
    if rank == destination:
        operations.append(dist.P2POp(dist.irecv, matrix, source))
    if operations:
        for request in dist.batch_isend_irecv(operations):
            request.wait()
    if rank == source:
        matrix.fill_(0)
    dist.barrier()
    return matrix
