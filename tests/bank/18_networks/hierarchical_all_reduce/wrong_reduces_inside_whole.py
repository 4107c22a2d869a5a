# verdict: wrong, diagnosis: idle_cards
import torch
import torch.distributed as dist


def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    acrosses = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    inside, across = insides[r // g], acrosses[r % g]
    x = x.clone()
    dist.all_reduce(x, group=inside)
    parts = list(x.tensor_split(g))
    part = parts[r % g].clone()
    dist.all_reduce(part, group=across)
    for k in range(g):
        piece = part if k == r % g else torch.empty_like(parts[k])
        dist.broadcast(piece, r // g * g + k, group=inside)
        parts[k].copy_(piece)
    return x
