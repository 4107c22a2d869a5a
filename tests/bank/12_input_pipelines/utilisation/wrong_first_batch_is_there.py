# verdict: wrong, diagnosis: first_is_there
import numpy as np


def utilisation(make, step, depth):
    make = np.array(make)
    make[:, 0] = 0.0
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
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]
