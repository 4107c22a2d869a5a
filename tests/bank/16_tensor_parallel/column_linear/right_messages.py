# verdict: passed
import torch
import torch.distributed as dist


def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(bias) % p:
        raise ValueError("columns do not divide")
    parts = [x.new_empty(len(x), len(bias) // p) for _ in range(p)]
    parts[r] = x @ weight.chunk(p)[r].T + bias.chunk(p)[r]
    works = []
    for q in range(p):
        if q != r:
            works += [dist.isend(parts[r], q), dist.irecv(parts[q], q)]
    for work in works:
        work.wait()
    return torch.hstack(parts)
