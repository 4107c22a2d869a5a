# verdict: passed
import numpy as np


def learning_rate(step, base_rate, world_size, warmup_steps):
    if warmup_steps == 0:
        return base_rate * world_size
    return np.interp(step, [0, warmup_steps], [base_rate, base_rate * world_size])
