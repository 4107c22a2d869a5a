# verdict: wrong, diagnosis: across_only
import torch
import torch.distributed as dist


def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    acrosses = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    across = acrosses[r % g]
    x = x.clone()
    dist.all_reduce(x, group=across)
    return x
