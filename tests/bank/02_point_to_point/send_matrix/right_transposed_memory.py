# verdict: passed
# differs: The matrix is a transposed view: it is received in place, whatever its layout, and made contiguous for sending.
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    rank = dist.get_rank()
    columns = torch.zeros(4, 3)
    matrix = columns.t()
    if rank == source:
        matrix += value
        dist.send(matrix.contiguous(), destination)
    if rank == destination:
        dist.recv(matrix, source)
    return matrix
