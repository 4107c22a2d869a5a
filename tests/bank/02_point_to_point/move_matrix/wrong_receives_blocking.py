# verdict: wrong, diagnosis: blocking
import torch
from torch.distributed import get_rank, isend, recv


def move_matrix(value, source, destination):
    matrix = torch.zeros(3, 4)
    if get_rank() == source:
        matrix.fill_(value)
        request = isend(matrix, destination)
        request.wait()
        matrix.fill_(0)
    elif get_rank() == destination:
        recv(matrix, source)
    return matrix
