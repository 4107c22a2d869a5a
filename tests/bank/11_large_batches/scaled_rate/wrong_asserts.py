# verdict: raised, diagnosis: not_a_value_error
import math


def scaled_rate(step, base_rate, base_batch, batch, warmup_steps, steps):
    assert 0 <= step < steps and 0 <= warmup_steps <= steps
    peak = base_rate * batch / base_batch
    if step < warmup_steps:
        return base_rate + (peak - base_rate) * step / warmup_steps
    share = (step - warmup_steps) / (steps - warmup_steps)
    return peak * (1 + math.cos(math.pi * share)) / 2
