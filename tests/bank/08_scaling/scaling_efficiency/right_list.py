# verdict: passed
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    per_rank = [b / t / p for p, b, t in zip(world_sizes, global_batch_sizes, step_seconds)]
    kind = "neither"
    if len(set(b * world_sizes[0] - p * global_batch_sizes[0] for p, b in zip(world_sizes, global_batch_sizes))) == 1:
        kind = "weak"
    if len(set(global_batch_sizes)) == 1:
        kind = "strong"
    return kind, [rate / per_rank[0] for rate in per_rank]
