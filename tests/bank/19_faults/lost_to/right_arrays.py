# verdict: passed
# differs: Sorted rows give who came last and by how much, for all steps at once.
import numpy as np


def lost_to(posted, ended):
    inorder = np.sort(posted, axis=1)
    last = posted.argmax(axis=1)
    ranks = np.zeros(posted.shape[1])
    np.add.at(ranks, last, inorder[:, -1] - inorder[:, -2])
    return ranks, (ended.max(axis=1) - inorder[:, -1]).sum()
