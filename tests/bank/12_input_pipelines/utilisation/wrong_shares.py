# verdict: wrong, diagnosis: shares
import numpy as np


def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end, starts, data, others = np.zeros(p), 0.0, [], 0.0, 0.0
    for k in range(steps):
        begun = end if depth == 0 else starts[k - depth] if k >= depth else 0.0
        ready = np.maximum(ready, begun) + make[:, k]
        starts.append(np.maximum(ready, end))
        data = data + starts[k] - end
        others = others + starts[k].max() - starts[k]
        end = starts[k].max() + step
    return [(steps * step / end, float(data[r]) / end, float(others[r]) / end) for r in range(p)]
