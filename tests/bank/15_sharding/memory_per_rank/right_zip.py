# verdict: passed
# differs: Bytes and the stage from which they are divided stand in pairs: the three stages are one sum.


def memory_per_rank(params, p, stage, optimizer, mixed):
    import math

    if not 0 <= stage <= 3:
        raise ValueError(stage)
    if p <= 0:
        raise ValueError(p)
    k = math.ceil(params / p)
    small = 2 if mixed else 4
    kept = [small, small, {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)]
    return float(sum(b * (k if s <= stage else params) for b, s in zip(kept, (3, 2, 1))))
