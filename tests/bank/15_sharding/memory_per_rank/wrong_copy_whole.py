# verdict: wrong, diagnosis: copy_not_divided


def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    states = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer]
    if mixed:
        weights = gradients = 2
    else:
        weights = gradients = 4
    share = (params + p - 1) // p
    total = 4 * params if mixed else 0
    total += states * (share if stage >= 1 else params)
    total += gradients * (share if stage >= 2 else params)
    total += weights * (share if stage >= 3 else params)
    return total
