# verdict: passed
import torch
import torch.distributed as dist

PIECES = 60


def hierarchical_all_reduce(x, ranks_per_node):
    """In pieces: while one goes across the nodes, others are reduced and gathered inside them."""
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    backs = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    acrosses = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    inside, back, across = insides[r // g], backs[r // g], acrosses[r % g]
    size = p * max(1, -(-len(x) // (p * PIECES)))
    pieces = list(torch.cat([x, x.new_zeros(-len(x) % size)]).split(size))
    parts = [piece.new_empty(size // g) for piece in pieces]

    reduced = [
        dist.reduce_scatter_single(part, piece, group=inside, async_op=True)
        for part, piece in zip(parts, pieces, strict=True)
    ]
    crossed = []
    for part, work in zip(parts, reduced, strict=True):
        work.wait()
        crossed.append(dist.all_reduce(part, group=across, async_op=True))
    gathered = []
    for part, piece, work in zip(parts, pieces, crossed, strict=True):
        work.wait()
        gathered.append(dist.all_gather_single(piece, part, group=back, async_op=True))
    for work in gathered:
        work.wait()
    return torch.cat(pieces)[: len(x)]
