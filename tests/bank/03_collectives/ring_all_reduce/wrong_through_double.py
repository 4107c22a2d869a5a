# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    kind = x.dtype if x.dtype == torch.bfloat16 else torch.float32 if x.dtype == torch.float32 else torch.float64
    chunks = [c.to(kind, copy=True) for c in torch.tensor_split(x, p)]
    for step in range(2 * (p - 1)):
        send, take = (rank - step) % p, (rank - step - 1) % p
        room = torch.empty_like(chunks[take])
        request = dist.isend(chunks[send], (rank + 1) % p)
        dist.recv(room, (rank - 1) % p)
        request.wait()
        chunks[take] = chunks[take] + room if step < p - 1 else room
    return torch.cat(chunks).to(x.dtype)
