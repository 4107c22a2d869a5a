# verdict: passed
# differs: The matrix is a transposed view: made contiguous for sending, and filled from what was received.
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
        received = torch.empty(3, 4)
        dist.recv(received, source)
        matrix.copy_(received)
    return matrix
