# verdict: raised, diagnosis: ZeroDivisionError
def learning_rate(step, base_rate, world_size, warmup_steps):
    return base_rate * (1 + (world_size - 1) * min(1, step / warmup_steps))
