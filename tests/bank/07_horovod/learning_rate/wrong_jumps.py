# verdict: wrong, diagnosis: jumps
def learning_rate(step, base_rate, world_size, warmup_steps):
    return base_rate * world_size if step >= warmup_steps else base_rate
