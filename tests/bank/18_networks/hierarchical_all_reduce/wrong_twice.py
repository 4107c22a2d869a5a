# verdict: wrong, diagnosis: reduces_inside_twice
import torch
import torch.distributed as dist


def hierarchical_all_reduce(x, ranks_per_node):
    g, r, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    inside = insides[r // g]
    x = x.clone()
    dist.all_reduce(x, group=inside)
    dist.all_reduce(x)
    return x
