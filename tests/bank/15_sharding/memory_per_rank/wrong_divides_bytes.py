# verdict: wrong, diagnosis: divides_bytes


def memory_per_rank(params, p, stage, optimizer, mixed):
    import math

    if not 0 <= stage <= 3:
        raise ValueError(stage)
    if p <= 0:
        raise ValueError(p)
    small = 2 if mixed else 4
    kept = [small, small, {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)]
    return sum(math.ceil(b * params / p) if s <= stage else b * params for b, s in zip(kept, (3, 2, 1)))
