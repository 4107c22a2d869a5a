# verdict: wrong, diagnosis: moves_too_much
import torch
import torch.distributed as dist


def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError
    mine = torch.cat([gradient, (gradient @ gradient)[None]])
    rows = [torch.empty_like(mine) for _ in range(p)]
    dist.all_gather(rows, mine)
    m = torch.stack(rows).mean(0)
    mean, small = m[:-1], float(m[-1])
    large = float(mean @ mean)
    return mean, (small - large) / (1 / b - 1 / (p * b)) * (p * b - b) / (p * b * large - b * small)
