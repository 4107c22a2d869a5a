# verdict: wrong, diagnosis: starts_at_zero
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate * world_size
    return base_rate * world_size * step / warmup_steps
