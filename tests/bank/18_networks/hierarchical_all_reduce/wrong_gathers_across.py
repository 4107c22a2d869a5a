# verdict: wrong, diagnosis: too_much_between
import torch
import torch.distributed as dist


def hierarchical_all_reduce(x, ranks_per_node):
    rank, p, g = dist.get_rank(), dist.get_world_size(), ranks_per_node
    inside = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)][rank // g]
    across = [dist.new_group(list(range(k, p, g))) for k in range(g)][rank % g]
    n = x.numel()
    padded = torch.cat([x.flatten(), x.new_zeros(-n % g)])
    part = padded.new_empty(len(padded) // g)
    dist.reduce_scatter_tensor(part, padded, group=inside)
    parts = [torch.empty_like(part) for _ in range(p // g)]
    dist.all_gather(parts, part, group=across)
    part = torch.stack(parts).sum(0)
    dist.all_gather_into_tensor(padded, part, group=inside)
    return padded[:n].view_as(x)
