# verdict: wrong, diagnosis: first_rank_of_equals
import numpy as np
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    mine = torch.full((3,), torch.inf, dtype=torch.float64)
    if len(numbers):
        k = int(np.argmin(validation.numpy()))
        mine = torch.stack([validation[k], numbers[k].double(), test[k]])
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    k = int(np.argmin([one[0].item() for one in everyone]))
    if everyone[k][0] == torch.inf:
        raise ValueError("no trial")
    return int(everyone[k][1]), everyone[k][2].item()
