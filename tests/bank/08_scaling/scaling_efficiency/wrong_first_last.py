# verdict: wrong, diagnosis: neither_overlooked


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if b[0] == b[-1] else "weak" if local[0] == local[-1] else "neither"
    r = b / t
    return kind, r / r[0] / (p / p[0])
