# verdict: wrong, diagnosis: unrecognised
import numpy as np


def lost_to(posted, ended):
    steps, ranks = posted.shape
    lost = [0.0] * ranks
    network = 0.0
    for s in range(steps):
        order = np.argsort(posted[s])
        values = np.unique(posted[s])
        last, other = order[-1], order[-2]
        lost[int(last)] += float(posted[s, last] - (values[-2] if len(values) > 1 else values[-1]))
        network += float(ended[s].max() - posted[s, last])
    return lost, network
