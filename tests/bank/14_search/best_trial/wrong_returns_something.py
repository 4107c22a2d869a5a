# verdict: wrong, diagnosis: takes_anything
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    rows = [row for row in zip(validation.tolist(), numbers.tolist(), test.tolist()) if row[0] == row[0]]
    mine = torch.tensor(min(rows, default=[torch.inf, -1, torch.inf]), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    return int(number), error
