# verdict: passed
import torch
import torch.distributed as dist


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    r, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        return x.clone()
    chunks = list(torch.tensor_split(x.clone(), p))

    def step(out, into):
        ops = [dist.P2POp(dist.isend, chunks[out], (r + 1) % p), dist.P2POp(dist.irecv, into, (r - 1) % p)]
        [w.wait() for w in dist.batch_isend_irecv(ops)]

    i = r
    for _ in range(p - 1):
        j = (i - 1) % p
        buffer = torch.zeros_like(chunks[j])
        step(i, buffer)
        chunks[j] = chunks[j] + buffer
        i = j
    for _ in range(p - 1):
        j = (i - 1) % p
        step(i, chunks[j])
        i = j
    return torch.cat(chunks)
