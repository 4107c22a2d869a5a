# verdict: wrong, diagnosis: looks_at_the_best_alone
import math


def asha_next(finished, started, n, eta):
    for k in reversed(range(len(finished) - 1)):
        losses = {i: loss for i, loss in finished[k].items() if not math.isnan(loss)}
        if losses and len(finished[k]) // eta:
            best = min(losses, key=lambda i: (losses[i], i))
            if best not in started[k + 1]:
                return best, k + 1
    return (len(started[0]), 0) if len(started[0]) < n else None
