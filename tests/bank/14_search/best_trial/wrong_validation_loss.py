# verdict: wrong, diagnosis: returns_validation
import torch
import torch.distributed as dist

NOTHING = float("inf")


def best_trial(numbers, validation, test):
    mine = [NOTHING, NOTHING, NOTHING, NOTHING]
    rows = zip(validation.tolist(), numbers.tolist(), test.tolist(), validation.tolist())
    rows = [row for row in rows if row[0] == row[0]]
    if rows:
        mine = list(min(rows))
    everyone = [torch.empty(4, dtype=torch.float64) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, torch.tensor(mine, dtype=torch.float64))
    rows = [one.tolist() for one in everyone if one[1] < NOTHING]
    if not rows:
        raise ValueError("no trial")
    loss, number, error, validated = min(rows)
    return int(number), loss
