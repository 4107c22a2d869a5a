# verdict: wrong, diagnosis: lowest_test_error
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    rows = [row for row in zip(validation.tolist(), numbers.tolist()) if row[0] == row[0]]
    mine = torch.tensor(min(rows, default=[torch.inf, 0]), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    error = torch.tensor(min(test.tolist(), default=torch.inf), dtype=torch.float64)
    dist.all_reduce(error, op=dist.ReduceOp.MIN)
    loss, number = min(one.tolist() for one in everyone)
    if loss == torch.inf:
        raise ValueError("no trial")
    return int(number), error.item()
