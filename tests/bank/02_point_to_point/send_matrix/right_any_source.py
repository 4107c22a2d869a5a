# verdict: passed
import torch
import torch.distributed as dist


def send_matrix(value: float, source: int, destination: int) -> torch.Tensor:
    me = dist.get_rank()
    m = torch.zeros((3, 4), dtype=torch.float32)
    if me == source:
        m[:] = value
        dist.send(m, destination, tag=5)
        return m
    if me != destination:
        return m
    sender = dist.recv(m, tag=5)
    assert sender == source
    return m
