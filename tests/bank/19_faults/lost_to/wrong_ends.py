# verdict: wrong, diagnosis: mean_of_the_network
import numpy as np


def lost_to(posted, ended):
    ranks, network = [0.0] * posted.shape[1], 0.0
    for came, left in zip(posted, ended):
        order = np.argsort(came)
        ranks[order[-1]] += came[order[-1]] - came[order[-2]]
        network += left.mean() - came[order[-1]]
    return ranks, network
