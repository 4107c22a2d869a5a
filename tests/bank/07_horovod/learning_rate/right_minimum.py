# verdict: passed
def learning_rate(step, base_rate, world_size, warmup_steps):
    done = min(1.0, step / warmup_steps) if warmup_steps else 1.0
    return base_rate * (1 + done * (world_size - 1))
