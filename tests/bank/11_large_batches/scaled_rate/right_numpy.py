# verdict: passed
# differs: The warm-up is an interpolation, and half of 1 + cos is the square of the cosine of half the angle.
import numpy as np


def scaled_rate(step, base_rate, base_batch, batch, warmup_steps, steps):
    if step not in range(steps):
        raise ValueError(step)
    if warmup_steps not in range(steps + 1):
        raise ValueError(warmup_steps)
    k = batch / base_batch
    if step < warmup_steps:
        return np.interp(step, [0, warmup_steps], [base_rate, k * base_rate])
    share = (step - warmup_steps) / (steps - warmup_steps)
    return k * base_rate * np.cos(np.pi * share / 2) ** 2
