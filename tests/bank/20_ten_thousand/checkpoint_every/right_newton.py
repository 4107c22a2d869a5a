# verdict: passed
import math


def checkpoint_every(step, save, mtbf, ranks):
    failure, x = mtbf / ranks, 0.5
    for _ in range(200):  # exp(x + save / failure) (1 - x) = 1, halved again and again
        low, high = 0.0, 1.0
        for _ in range(60):
            x = (low + high) / 2
            low, high = (x, high) if math.exp(x + save / failure) * (1 - x) > 1 else (low, x)
        break
    return max(1, round(x * failure / step))
