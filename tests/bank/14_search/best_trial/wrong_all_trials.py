# verdict: wrong, diagnosis: sends_all_trials
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    rows = list(zip(validation.tolist(), numbers.tolist(), test.tolist()))
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, rows)
    rows = [row for share in everyone for row in share if row[0] == row[0]]
    if not rows:
        raise ValueError("no trial")
    return min(rows)[1:]
