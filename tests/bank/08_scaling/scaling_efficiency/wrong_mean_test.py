# verdict: wrong, diagnosis: neither_overlooked


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    kind = "strong" if b.mean() == b[0] else "weak" if (b / p).mean() == b[0] / p[0] else "neither"
    r = b / t
    return kind, r / r[0] / (p / p[0])
