# verdict: wrong, diagnosis: inside_only
import torch
import torch.distributed as dist


def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    acrosses = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    inside, across = insides[r // g], acrosses[r % g]
    k = -(-len(x) // g)
    whole = torch.cat([x, x.new_zeros(k * g - len(x))])
    part = x.new_empty(k)
    dist.reduce_scatter_single(part, whole, group=inside)
    dist.all_gather_single(whole, part, group=inside)
    return whole[: len(x)]
