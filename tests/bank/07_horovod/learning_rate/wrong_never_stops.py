# verdict: wrong, diagnosis: never_stops
def learning_rate(step, base_rate, world_size, warmup_steps):
    if warmup_steps == 0:
        return base_rate * world_size
    return base_rate + base_rate * (world_size - 1) * step / warmup_steps
