# verdict: wrong, diagnosis: lost_digits
import numpy as np


def lost_to(posted, ended):
    ranks, network = np.zeros(posted.shape[1], dtype=np.float32), np.float32(0)
    for came, left in zip(posted, ended):
        last = came.argmax()
        ranks[last] += np.sort(came)[-1] - np.sort(came)[-2]
        network += np.float32(left.max() - came[last])
    return ranks.tolist(), float(network)
