# verdict: wrong, diagnosis: first_rank_of_equals
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    loss = validation.nan_to_num(nan=torch.inf)
    mine = torch.full((3,), torch.inf, dtype=torch.float64)
    if len(loss):
        k = loss.argmin()
        mine = torch.stack([loss[k], numbers[k].double(), test[k]])
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    winner = min(everyone, key=lambda one: one[0].item())
    if winner[0] == torch.inf:
        raise ValueError("no trial")
    return int(winner[1]), winner[2].item()
