# verdict: passed
import torch
import torch.distributed as dist


class Post:
    def __init__(self):
        self.rank = dist.get_rank()

    def deliver(self, tensor, a, b):
        actions = {a: lambda: dist.send(tensor, b), b: lambda: dist.recv(tensor, a)}
        actions.get(self.rank, lambda: None)()


def send_matrix(value, source, destination):
    flat = torch.zeros(12)
    if dist.get_rank() == source:
        flat.fill_(value)
    Post().deliver(flat, source, destination)
    return flat.view(3, 4)
