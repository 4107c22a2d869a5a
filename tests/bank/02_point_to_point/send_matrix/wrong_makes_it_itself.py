# verdict: wrong, diagnosis: no_message
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    matrix = torch.zeros(3, 4)
    if dist.get_rank() in (source, destination):
        matrix += value
    return matrix
