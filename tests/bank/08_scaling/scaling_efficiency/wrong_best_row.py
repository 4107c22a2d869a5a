# verdict: wrong, diagnosis: best_row


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if (b == b[0]).all() else "weak" if (local == local[0]).all() else "neither"
    r = b / t / p
    return kind, r / r.max()
