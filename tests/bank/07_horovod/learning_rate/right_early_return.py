# verdict: passed
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate * world_size
    return base_rate + (base_rate * world_size - base_rate) * step / warmup_steps
