# verdict: passed
# differs: No requests: of two partners the one with the smaller rank sends first, and the order alone prevents the deadlock.
import torch
import torch.distributed as dist


def exchange(x: torch.Tensor, partner: int) -> torch.Tensor:
    rank = dist.get_rank()
    y = x.clone()
    if rank < partner:
        dist.send(x, partner)
        dist.recv(y, partner)
    elif rank > partner:
        dist.recv(y, partner)
        dist.send(x, partner)
    return y
