# verdict: wrong, diagnosis: always_adam


def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    state = 12 if mixed else 8
    return (
        state * (k if stage else params) + small * (k if stage > 1 else params) + small * (k if stage > 2 else params)
    )
