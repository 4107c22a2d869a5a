# verdict: wrong, diagnosis: as_far_as_it_likes
import numpy as np


def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end, data, others = np.zeros(p), 0.0, 0.0, 0.0
    for k in range(steps):
        ready = (end if depth == 0 else ready) + make[:, k]
        start = np.maximum(ready, end)
        data = data + start - end
        others = others + start.max() - start
        end = start.max() + step
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]
