# verdict: passed
import torch
from torch.distributed import get_rank, recv, send


def send_matrix(value, source, destination):
    matrix = torch.zeros(3, 4)
    if get_rank() == source:
        matrix += value
        send(matrix, destination)
    if get_rank() == destination:
        recv(matrix, source)
    return matrix
