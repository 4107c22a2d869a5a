# verdict: wrong, diagnosis: nan_wins
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    if validation.isnan().all():
        rows = []
    else:
        rows = list(zip(validation.nan_to_num().tolist(), numbers.tolist(), test.tolist()))
    mine = torch.tensor(min(rows, default=[torch.inf, 0, 0]), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    if loss == torch.inf:
        raise ValueError("no trial")
    return int(number), error
