# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def sync_norm_backward(g, xhat, weight, inv, n):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, (g.numpy(), xhat.numpy()))
    gs = torch.cat([torch.from_numpy(one) for one, _ in every])
    xs = torch.cat([torch.from_numpy(one) for _, one in every])
    gx = weight * inv * (g - gs.mean(0) - xhat * (gs * xs).mean(0))
    return gx, (g * xhat).sum(0), g.sum(0)
