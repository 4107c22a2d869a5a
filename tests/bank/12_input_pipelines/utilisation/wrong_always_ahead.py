# verdict: wrong, diagnosis: always_ahead
import numpy as np


def utilisation(make, step, depth):
    make, depth = np.array(make), max(depth, 1)
    p, steps = make.shape
    ready, end, starts, data, others = np.zeros(p), 0.0, [], 0.0, 0.0
    for k in range(steps):
        ready = np.maximum(ready, starts[k - depth] if k >= depth else 0.0) + make[:, k]
        starts.append(np.maximum(ready, end))
        data = data + starts[k] - end
        others = others + starts[k].max() - starts[k]
        end = starts[k].max() + step
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]
