# verdict: wrong, diagnosis: nan_goes_up
import math


def asha_next(finished, started, n, eta):
    for k in reversed(range(len(finished) - 1)):
        losses = finished[k]
        ranked = sorted(losses, key=losses.get)
        for config in ranked[: len(losses) // eta]:
            if config not in started[k + 1]:
                return config, k + 1
    if len(started[0]) < n:
        return len(started[0]), 0
    return None
