# verdict: wrong, diagnosis: raises_without_reason
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    rows = [row for row in zip(validation.tolist(), numbers.tolist(), test.tolist(), strict=True) if row[0] == row[0]]
    mine = torch.tensor(min(rows, default=(1e9, 0, 0)), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    if loss >= 1e9:
        raise ValueError("no trial has a loss")
    return int(number), error
