# verdict: wrong, diagnosis: one_step_early
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate * world_size
    return base_rate + base_rate * (world_size - 1) * (step + 1) / warmup_steps
