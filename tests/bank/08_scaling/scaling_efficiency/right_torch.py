# verdict: passed
import torch


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = (torch.as_tensor(x, dtype=torch.float64) for x in (world_sizes, global_batch_sizes, step_seconds))
    per_rank = b / (t * p)
    same_global, same_local = bool((b == b[0]).all()), bool(torch.isclose(b / p, b[0] / p[0]).all())
    return {(True, False): "strong", (False, True): "weak"}.get((same_global, same_local), "neither"), per_rank / per_rank[0]
