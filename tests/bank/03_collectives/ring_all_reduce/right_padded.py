# verdict: passed
import torch
import torch.distributed as dist


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p, n = dist.get_rank(), dist.get_world_size(), len(x)
    size = (n + p - 1) // p
    work = torch.zeros(size * p, dtype=x.dtype)
    work[:n] = x
    blocks = work.view(p, size)
    box = torch.empty(size, dtype=x.dtype)
    for step in range(2 * (p - 1)):
        send_block = blocks[(rank - step) % p]
        recv_block = blocks[(rank - step - 1) % p]
        requests = [dist.isend(send_block, (rank + 1) % p), dist.irecv(box, (rank - 1) % p)]
        for request in requests:
            request.wait()
        if step < p - 1:
            recv_block += box
        else:
            recv_block.copy_(box)
    return work[:n]
