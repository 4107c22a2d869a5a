# verdict: wrong, diagnosis: square_root
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate * world_size**0.5
    return base_rate * (1 + (world_size**0.5 - 1) * step / warmup_steps)
