# verdict: passed
# differs: All ranks at once, as arrays: each step is a maximum over what is ready and who is late.
import numpy as np


def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end = np.zeros(p), 0.0
    starts, data, others = [], np.zeros(p), np.zeros(p)
    for k in range(steps):
        if depth == 0:
            ready = end + make[:, k]
        elif k < depth:
            ready = ready + make[:, k]
        else:
            ready = np.maximum(ready, starts[k - depth]) + make[:, k]
        start = np.maximum(ready, end)
        starts.append(start)
        data += start - end
        others += start.max() - start
        end = start.max() + step
    return np.stack([np.full(p, steps * step), data, others], axis=1)
