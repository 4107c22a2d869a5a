# verdict: wrong, diagnosis: takes_anything


def memory_per_rank(params, p, stage, optimizer, mixed):
    p = max(p, 1)

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    return (
        state * (k if stage > 0 else params)
        + small * (k if stage > 1 else params)
        + small * (k if stage > 2 else params)
    )
