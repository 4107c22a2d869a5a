# verdict: wrong, diagnosis: last_place_of_equals
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    mine = [torch.inf, torch.inf, 0.0]
    for number, loss, error in zip(numbers.tolist(), validation.tolist(), test.tolist()):
        if loss <= mine[0]:
            mine = [loss, number, error]
    mine = torch.tensor(mine, dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    if loss == float("inf"):
        raise ValueError("no trial has a loss")
    return int(number), error
