# verdict: passed
# differs: The warm-up is a number between 0 and 1 that stops growing, so there is one formula and no branch.
def learning_rate(step, base_rate, world_size, warmup_steps):
    done = min(1.0, step / warmup_steps) if warmup_steps else 1.0
    return base_rate * (1 + done * (world_size - 1))
