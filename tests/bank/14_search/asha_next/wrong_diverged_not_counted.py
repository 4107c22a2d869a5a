# verdict: wrong, diagnosis: diverged_do_not_count
import math
def asha_next(finished, started, n, eta):
    for k in range(len(finished) - 2, -1, -1):
        done = finished[k]
        good = sorted((loss, i) for i, loss in done.items() if not math.isnan(loss))
        for loss, i in good[: len(good) // eta]:
            if i not in started[k + 1]:
                return i, k + 1
    if len(started[0]) < n:
        return len(started[0]), 0
    return None
