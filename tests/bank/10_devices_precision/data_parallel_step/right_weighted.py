# verdict: passed
import torch


def data_parallel_step(replicas, x, y, loss_fn):
    first = replicas[0]
    totals = [torch.zeros_like(p) for p in first.parameters()]
    for k, replica in enumerate(replicas):
        replica.load_state_dict(first.state_dict())
        mine = range(k, len(x), len(replicas))
        if not mine:
            continue
        loss = loss_fn(replica(x[mine]), y[mine]) * len(mine) / len(x)
        for total, g in zip(totals, torch.autograd.grad(loss, list(replica.parameters()))):
            total += g
    return totals
