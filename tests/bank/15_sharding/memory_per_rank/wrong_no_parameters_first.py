# verdict: wrong, diagnosis: takes_anything
def memory_per_rank(params, p, stage, optimizer, mixed):
    if params == 0:
        return 0
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("stage or p")
    k = -(-params // p)
    state = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer] + (4 if mixed else 0)
    width = 2 if mixed else 4
    return (width * (k if stage >= 3 else params) + width * (k if stage >= 2 else params)
            + state * (k if stage >= 1 else params))
