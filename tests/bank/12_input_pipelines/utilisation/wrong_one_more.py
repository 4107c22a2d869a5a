# verdict: wrong, diagnosis: one_further_ahead
import numpy as np


def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end, starts, data, others = np.zeros(p), 0.0, [], 0.0, 0.0
    for k in range(steps):
        before = starts[k - depth - 1] if k > depth else 0.0
        ready = np.maximum(ready, before if depth else end) + make[:, k]
        starts.append(np.maximum(ready, end))
        data = data + starts[k] - end
        others = others + starts[k].max() - starts[k]
        end = starts[k].max() + step
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]
