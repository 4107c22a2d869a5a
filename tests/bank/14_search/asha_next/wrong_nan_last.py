# verdict: wrong, diagnosis: nan_is_last_and_goes_up
import math


def asha_next(finished, started, n, eta):
    for k in reversed(range(len(finished) - 1)):
        losses = finished[k]
        ranked = sorted(losses, key=lambda i: (math.isnan(losses[i]), losses[i], i))
        for config in ranked[: len(losses) // eta]:
            if config not in started[k + 1]:
                return config, k + 1
    return (len(started[0]), 0) if len(started[0]) < n else None
