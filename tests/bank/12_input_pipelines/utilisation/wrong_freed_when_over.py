# verdict: wrong, diagnosis: freed_when_over
import numpy as np


def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    made, end, ends = np.zeros(p), 0.0, []
    data, others = np.zeros(p), np.zeros(p)
    for k in range(steps):
        if depth == 0:
            begun = end
        else:
            begun = np.maximum(made, ends[k - depth] if k >= depth else 0.0)
        made = begun + make[:, k]
        start = np.maximum(made, end)
        data += start - end
        others += start.max() - start
        end = start.max() + step
        ends.append(end)
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]
