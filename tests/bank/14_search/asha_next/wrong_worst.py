# verdict: wrong, diagnosis: promotes_the_worst
import math


def asha_next(finished, started, n, eta):
    for k in reversed(range(len(finished) - 1)):
        losses = finished[k]
        ranked = sorted(losses, key=lambda i: (not math.isnan(losses[i]), -losses[i]))
        for config in ranked[: len(losses) // eta]:
            if config not in started[k + 1] and not math.isnan(losses[config]):
                return config, k + 1
    if len(started[0]) < n:
        return len(started[0]), 0
    return None
