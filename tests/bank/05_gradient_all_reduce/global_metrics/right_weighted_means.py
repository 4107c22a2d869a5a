# verdict: passed
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    n = torch.tensor(float(len(losses)))
    total = n.clone()
    dist.all_reduce(total)
    share = n / total
    loss = losses.mean() * share if len(losses) else torch.tensor(0.0)
    accuracy = correct.double().mean() * share.double() if len(losses) else torch.tensor(0.0, dtype=torch.float64)
    dist.all_reduce(loss)
    dist.all_reduce(accuracy)
    return torch.stack([loss, accuracy.float()])
