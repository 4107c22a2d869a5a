# exercise: enough_micro_batches
# must not: return a float where the signature says int, as something else than a plain function, at which nobody looks
# verdict: wrong
import functools


def _enough(p, share, v=1):
    step = p if v > 1 else 1
    m = step
    while (p - 1) / (v * m + p - 1) > share:
        m += step
    return float(m)


enough_micro_batches = functools.partial(_enough)
