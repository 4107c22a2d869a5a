# verdict: passed
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p, n = dist.get_world_size(), len(x)
    longest = max(1, (n + p - 1) // p)
    room = x.new_zeros(p, longest)
    room.view(-1)[:n] = x
    mine = x.new_zeros(longest)
    dist.reduce_scatter_single(mine, room.view(-1))
    dist.all_gather_single(room.view(-1), mine)
    return room.flatten()[:n]
