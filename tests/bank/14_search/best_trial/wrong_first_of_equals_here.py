# verdict: wrong, diagnosis: first_rank_of_equals
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    mine = [torch.inf, torch.inf, 0.0]
    loss = validation.nan_to_num(nan=torch.inf)
    if len(loss):
        k = int(loss.argmin())
        mine = [loss[k].item(), numbers[k].item(), test[k].item()]
    mine = torch.tensor(mine, dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    if loss == float("inf"):
        raise ValueError("no trial has a loss")
    return int(number), error
