# verdict: wrong, diagnosis: losses_rounded
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    rows = zip(validation.float().tolist(), numbers.tolist(), test.tolist())
    mine = min((row for row in rows if row[0] == row[0]), default=(float("inf"), 0, 0))
    mine = torch.tensor(mine, dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    if loss == float("inf"):
        raise ValueError("no trial has a loss")
    return int(number), error
