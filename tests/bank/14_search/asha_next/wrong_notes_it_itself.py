# verdict: wrong, diagnosis: notes_it_itself
def asha_next(finished, started, n, eta):
    for k in range(len(finished) - 2, -1, -1):
        known = sorted((loss, i) for i, loss in finished[k].items() if loss == loss)
        for _, i in known[: len(finished[k]) // eta]:
            if i not in started[k + 1]:
                started[k + 1].append(i)
                return i, k + 1
    new = len(started[0])
    if new < n:
        started[0].append(new)
        return new, 0
    return None
