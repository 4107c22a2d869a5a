# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    longest = -(-len(x) // p)
    padded = torch.zeros(longest * p, dtype=x.dtype)
    padded[: len(x)] = x
    chunks = list(padded.view(p, longest))
    arrived = torch.empty(longest, dtype=x.dtype)
    requests = [dist.irecv(arrived, left) for _ in range(p - 1)]
    for step, request in enumerate(requests):
        send = dist.isend(chunks[(rank - step) % p], right)
        request.wait()
        chunks[(rank - step - 1) % p] += arrived
        send.wait()
    for step in range(p - 1):
        send = dist.isend(chunks[(rank + 1 - step) % p], right)
        dist.recv(chunks[(rank - step) % p], left)
        send.wait()
    return padded[: len(x)]
