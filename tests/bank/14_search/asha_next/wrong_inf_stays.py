# verdict: wrong, diagnosis: inf_is_no_loss
import math


def asha_next(finished, started, n, eta):
    for k in reversed(range(len(finished) - 1)):
        losses = finished[k]
        ranked = sorted((loss, i) for i, loss in losses.items() if math.isfinite(loss))
        for _, config in ranked[: len(losses) // eta]:
            if config not in started[k + 1]:
                return config, k + 1
    return (len(started[0]), 0) if len(started[0]) < n else None
