# verdict: passed
import torch
import torch.distributed as dist


class Ring:
    def __init__(self):
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def pass_on(self, tensor):
        arrived = torch.empty_like(tensor)
        request = dist.irecv(arrived, src=(self.rank - 1) % self.size)
        dist.send(tensor, dst=(self.rank + 1) % self.size)
        request.wait()
        return arrived


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    ring = Ring()
    p = ring.size
    fill = (p - x.numel() % p) % p
    parts = torch.cat((x, x.new_zeros(fill))).reshape(p, -1)
    moving = parts[ring.rank]
    for step in range(1, p):
        moving = ring.pass_on(moving) + parts[(ring.rank - step) % p]
    result = torch.empty_like(parts)
    result[(ring.rank + 1) % p] = moving
    for step in range(p - 1):
        moving = ring.pass_on(moving)
        result[(ring.rank - step) % p] = moving
    return result.flatten()[: x.numel()]
