# verdict: passed
# differs: Across the nodes it exchanges pieces and adds them itself, then gathers: an all-reduce in its two halves.
import torch
import torch.distributed as dist
import torch.nn.functional as F


def hierarchical_all_reduce(x, ranks_per_node):
    rank, p, g = dist.get_rank(), dist.get_world_size(), ranks_per_node
    N = p // g
    for k in range(N):
        one = dist.new_group(list(range(k * g, k * g + g)))
        if k == rank // g:
            inside = one
    for k in range(g):
        one = dist.new_group(list(range(k, p, g)))
        if k == rank % g:
            across = one
    n = x.numel()
    padded = F.pad(x.reshape(-1), (0, -n % p)).clone()
    chunks = list(padded.chunk(g))
    mine = torch.empty_like(chunks[0])
    dist.reduce_scatter(mine, chunks, group=inside)
    pieces = list(mine.chunk(N))
    got = [torch.empty_like(pieces[0]) for _ in range(N)]
    dist.all_to_all(got, pieces, group=across)
    total = sum(got[1:], got[0])
    dist.all_gather(pieces, total, group=across)
    dist.all_gather(chunks, mine, group=inside)
    return padded[:n].reshape(x.shape)
