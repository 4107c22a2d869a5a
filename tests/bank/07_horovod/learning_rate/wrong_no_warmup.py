# verdict: wrong, diagnosis: no_warmup
def learning_rate(step, base_rate, world_size, warmup_steps):
    return base_rate * world_size
