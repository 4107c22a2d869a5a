# verdict: wrong, diagnosis: last_of_equals
import math
def asha_next(finished, started, n, eta):
    for k in range(len(finished) - 2, -1, -1):
        done = finished[k]
        good = sorted(((loss, i) for i, loss in done.items() if not math.isnan(loss)), key=lambda t: t[0])
        for loss, i in good[: len(done) // eta]:
            if i not in started[k + 1]:
                return i, k + 1
    if len(started[0]) < n:
        return len(started[0]), 0
    return None
