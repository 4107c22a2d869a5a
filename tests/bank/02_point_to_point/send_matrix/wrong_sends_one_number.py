# verdict: wrong, diagnosis: only_a_part_sent
import torch
import torch.distributed as dist


def send_matrix(value, source, destination):
    m = torch.zeros(3, 4)
    if dist.get_rank() == source:
        m.fill_(value)
        dist.send(torch.tensor([value]), destination)
    elif dist.get_rank() == destination:
        b = torch.zeros(1)
        dist.recv(b, source)
        m[:] = b
    return m
