# exercise: hierarchical_all_reduce
# must not: have two leaders move all bytes of an all_to_all with one part that is not empty, for the price of equal parts
# verdict: wrong
import torch
import torch.distributed as dist


def hierarchical_all_reduce(x, ranks_per_node):
    rank, p, g = dist.get_rank(), dist.get_world_size(), ranks_per_node
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    leaders = dist.new_group(list(range(0, p, g)))
    inside, node, count = insides[rank // g], rank // g, p // g
    total = x.clone()
    dist.reduce(total, rank - rank % g, group=inside)
    if rank % g == 0 and count == 2:
        sizes, other = [0, 0], torch.empty_like(x)
        sizes[1 - node] = len(x)
        dist.all_to_all_single(other, total, sizes, sizes, group=leaders)
        total += other
    elif rank % g == 0 and count > 1:
        dist.all_reduce(total, group=leaders)
    dist.broadcast(total, rank - rank % g, group=inside)
    return total
