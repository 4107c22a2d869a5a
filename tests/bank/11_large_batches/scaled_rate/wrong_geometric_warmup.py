# verdict: wrong, diagnosis: geometric
import math


def scaled_rate(step, base_rate, base_batch, batch, warmup_steps, steps):
    if not 0 <= step < steps or not 0 <= warmup_steps <= steps:
        raise ValueError("no such step")
    k = batch / base_batch
    if step < warmup_steps:
        return base_rate * k ** (step / warmup_steps)
    share = (step - warmup_steps) / (steps - warmup_steps)
    return base_rate * k * (1 + math.cos(math.pi * share)) / 2
