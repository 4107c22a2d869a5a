# verdict: passed
# differs: Each rank sends its best (loss, number, error) once, and everybody takes the smallest: one call in place of three.
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    mine = torch.tensor([torch.inf, torch.inf, 0.0], dtype=torch.float64)
    ok = ~validation.isnan()
    if ok.any():
        rows = torch.stack([validation, numbers.double(), test], dim=1)[ok]
        mine = torch.tensor(min(rows.tolist()), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    if loss == float("inf"):
        raise ValueError("no trial has a loss")
    return int(number), error
