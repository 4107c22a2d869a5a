# verdict: hung, diagnosis: missing_rank
import torch
import torch.distributed as dist


def trust_step(shards, updates, adapt, lr, trust):
    if not any(len(w) for w in shards):
        return
    squares = torch.stack([(x * x).sum() for x in [*shards, *updates]])
    dist.all_reduce(squares)
    w_norms, u_norms = squares.sqrt().chunk(2)
    for w, u, adapted, w_norm, u_norm in zip(shards, updates, adapt, w_norms.tolist(), u_norms.tolist()):
        factor = trust * w_norm / u_norm if adapted and w_norm and u_norm else 1.0
        w.sub_(u, alpha=lr * factor)
