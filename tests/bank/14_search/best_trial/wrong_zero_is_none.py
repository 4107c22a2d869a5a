# verdict: wrong, diagnosis: unrecognised
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    mine = torch.zeros(3, dtype=torch.float64)
    trials = zip(validation.tolist(), numbers.tolist(), test.tolist(), strict=True)
    if trials := [trial for trial in trials if trial[0] == trial[0]]:
        mine = torch.tensor(min(trials), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    found = [one.tolist() for one in everyone if one[1]]
    if not found:
        raise ValueError("no trial has a loss")
    _, number, error = min(found)
    return int(number), error
