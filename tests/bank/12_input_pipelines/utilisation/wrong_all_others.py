# verdict: wrong, diagnosis: all_others
import numpy as np


def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end, starts = np.zeros(p), 0.0, []
    for k in range(steps):
        begun = end if depth == 0 else starts[k - depth] if k >= depth else 0.0
        ready = np.maximum(ready, begun) + make[:, k]
        starts.append(np.maximum(ready, end))
        end = starts[k].max() + step
    return [(steps * step, 0.0, end - steps * step) for _ in range(p)]
