# verdict: wrong, diagnosis: number_of_sends
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    for step in range(1, p):
        out, came = (rank - step + 1) % p, (rank - step) % p
        for k in range(len(x)):
            request = dist.isend(table[out, k : k + 1].clone(), dst=(rank + 1) % p)
            box = torch.empty(1, dtype=x.dtype)
            dist.recv(box, src=(rank - 1) % p)
            request.wait()
            table[came, k] = box[0]
    return table
