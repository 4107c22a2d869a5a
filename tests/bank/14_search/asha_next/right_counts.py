# verdict: passed
# differs: It counts how many of a rung may rise and takes the best that have not risen yet.
def asha_next(finished, started, n, eta):
    for k in range(len(started) - 2, -1, -1):
        known = sorted((loss, i) for i, loss in finished[k].items() if loss == loss)
        room = len(finished[k]) // eta
        free = [i for _, i in known[:room] if i not in set(started[k + 1])]
        if free:
            return free[0], k + 1
    new = len(started[0])
    return (new, 0) if new < n else None
