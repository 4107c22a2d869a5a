# verdict: wrong, diagnosis: rows_mixed_up
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    seen = [x]
    for _ in range(p - 1):
        arriving = torch.empty_like(x)
        request = dist.isend(seen[0], (rank + 1) % p)
        dist.recv(arriving, (rank - 1) % p)
        request.wait()
        seen.insert(0, arriving)
    return torch.stack(seen)
