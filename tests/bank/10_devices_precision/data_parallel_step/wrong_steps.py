# verdict: wrong, diagnosis: steps_the_weights
import torch


def data_parallel_step(replicas, x, y, loss_fn):
    for r in replicas:
        r.load_state_dict(replicas[0].state_dict())
        r.zero_grad()
    s = list(zip(replicas, x.chunk(len(replicas))))
    loss_fn(torch.cat([r(a) for r, a in s]), y).backward()
    g = [sum(p.grad for p in ps) for ps in zip(*[r.parameters() for r, _ in s])]
    with torch.no_grad():
        for r in replicas:
            for p, h in zip(r.parameters(), g):
                p -= 0.1 * h
    return g
