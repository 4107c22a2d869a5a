# verdict: wrong, diagnosis: own_best
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    rows = [row for row in zip(validation.tolist(), numbers.tolist(), test.tolist()) if row[0] == row[0]]
    trials = torch.tensor(len(rows))
    dist.all_reduce(trials)
    if trials == 0:
        raise ValueError("no trial")
    if not rows:
        return None
    return min(rows)[1:]
