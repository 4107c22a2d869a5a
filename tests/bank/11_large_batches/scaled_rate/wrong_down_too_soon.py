# verdict: wrong, diagnosis: down_a_step_too_soon
import math


def scaled_rate(step, base_rate, base_batch, batch, warmup_steps, steps):
    if not 0 <= step < steps or not 0 <= warmup_steps <= steps:
        raise ValueError
    peak = base_rate * batch / base_batch
    if step < warmup_steps:
        return base_rate + (peak - base_rate) * step / warmup_steps
    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / max(1, steps - 1 - warmup_steps))) / 2
