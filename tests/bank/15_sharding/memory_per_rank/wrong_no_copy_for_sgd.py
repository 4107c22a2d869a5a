# verdict: wrong, diagnosis: no_master_copy


def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")
    state = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer]
    if mixed and state:
        state += 4
    number, share = 2 if mixed else 4, -(-params // p)
    total = state * (share if stage >= 1 else params)
    return total + number * sum(share if stage >= first else params for first in (2, 3))
