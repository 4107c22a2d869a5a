# verdict: wrong, diagnosis: exchanged
import numpy as np


def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    made, end, starts = np.zeros(p), 0.0, []
    data, others = np.zeros(p), np.zeros(p)
    for k in range(steps):
        begun = end if depth == 0 else np.maximum(made, starts[k - depth] if k >= depth else 0.0)
        made = begun + make[:, k]
        starts.append(np.maximum(made, end))
        data += starts[k] - end
        others += starts[k].max() - starts[k]
        end = starts[k].max() + step
    return [(steps * step, float(others[r]), float(data[r])) for r in range(p)]
