# verdict: wrong, diagnosis: whole_bytes
def rank_memory(model, shape, stage, micro_batches, zero=1):
    d, p, t = shape
    L, h, V, s = (model[k] for k in ("layers", "width", "vocabulary", "sequence"))
    n = L / p * (12 * h * h + 13 * h)
    if stage == 0:
        n += (V + s) * h
    if stage == p - 1 and p > 1:
        n += V * h
    n //= t
    return {
        "parameters": 2 * n // (d if zero >= 3 else 1),
        "gradients": 4 * n // (d if zero >= 2 else 1),
        "optimizer": 12 * n // (d if zero >= 1 else 1),
        "activations": 34 * s * h * L / p * min(micro_batches, p - stage) / t,
    }
