# verdict: wrong, diagnosis: counts_only_parameters


def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    return small * (k if stage == 3 else params)
