# verdict: wrong, diagnosis: overshoots
def learning_rate(step, base_rate, world_size, warmup_steps):
    scaled = base_rate * world_size
    if step < warmup_steps:
        return base_rate + scaled * step / warmup_steps
    return scaled
