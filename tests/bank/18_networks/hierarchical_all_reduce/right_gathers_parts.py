# verdict: passed
import torch
import torch.distributed as dist


def ring(x, ranks, first):
    me, p = ranks.index(dist.get_rank()), len(ranks)
    right, left = ranks[(me + 1) % p], ranks[(me - 1) % p]
    parts = list(x.tensor_split(p))
    for phase in first:
        for s in range(p - 1):
            out, into = (me - s - 1 + phase) % p, (me - s - 2 + phase) % p
            got = torch.empty_like(parts[into])
            sent = dist.isend(parts[out].clone(), right)
            dist.recv(got, left)
            sent.wait()
            if phase:
                parts[into].copy_(got)
            else:
                parts[into] += got
    return parts[me]


def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    node, k = divmod(r, g)
    pieces = [piece.clone() for piece in x.tensor_split(g)]
    requests, got = [], [torch.empty_like(pieces[k]) for _ in range(g)]
    for i in range(1, g):
        to, source = node * g + (k + i) % g, node * g + (k - i) % g
        requests += [dist.isend(pieces[(k + i) % g], to), dist.irecv(got[(k - i) % g], source)]
    for request in requests:
        request.wait()
    total = pieces[k] + sum(got[i] for i in range(g) if i != k)
    ring(total, list(range(k, p, g)), [0, 1])
    pieces[k], requests = total, []
    for i in range(1, g):
        to, source = node * g + (k + i) % g, node * g + (k - i) % g
        pieces[(k - i) % g] = torch.empty_like(pieces[(k - i) % g])
        requests += [dist.isend(total, to), dist.irecv(pieces[(k - i) % g], source)]
    for request in requests:
        request.wait()
    return torch.cat(pieces)
