# verdict: wrong, diagnosis: takes_anything


def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3):
        raise ValueError(stage)

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // max(p, 1))
    return (
        state * (k if stage > 0 else params)
        + small * (k if stage > 1 else params)
        + small * (k if stage > 2 else params)
    )
