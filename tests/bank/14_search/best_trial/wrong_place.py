# verdict: wrong, diagnosis: place_for_number
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    mine = torch.full((4,), torch.inf, dtype=torch.float64)
    loss = validation.nan_to_num(nan=torch.inf)
    if len(loss) and loss.min() < torch.inf:
        k = min(range(len(loss)), key=lambda k: (loss[k].item(), numbers[k].item()))
        mine = torch.stack([loss[k], numbers[k].double(), test[k], torch.tensor(k).double()])
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    best = min(one.tolist() for one in everyone)
    if best[0] == torch.inf:
        raise ValueError("no trial")
    return int(best[3]), best[2]
