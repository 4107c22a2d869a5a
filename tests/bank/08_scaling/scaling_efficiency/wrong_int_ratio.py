# verdict: wrong, diagnosis: ranks_divided_whole


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if (b == b[0]).all() else "weak" if (local == local[0]).all() else "neither"
    r = b / t
    return kind, r / r[0] / (p // p[0])
