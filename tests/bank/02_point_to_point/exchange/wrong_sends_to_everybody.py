# verdict: wrong, diagnosis: talks_to_others
import torch
import torch.distributed as dist


def exchange(x, partner):
    rank, p = dist.get_rank(), dist.get_world_size()
    rows = [torch.empty_like(x) for _ in range(p)]
    rows[rank] = x.clone()
    requests = []
    for other in range(p):
        if other != rank:
            requests.append(dist.isend(x, other))
            requests.append(dist.irecv(rows[other], other))
    for request in requests:
        request.wait()
    return rows[partner]
