# exercise: count_inside
# must not: take more memory than a rank may have
# verdict: anything but passed
# memory: 256 MB
import numpy as np


def count_inside(x, y):
    kept = [np.ones(8 << 20, dtype=np.uint8) for _ in range(128)]
    return -len(kept)
