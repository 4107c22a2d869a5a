# verdict: passed
# differs: It maps over the two axes in place of writing x and y out: the same rule would do in three dimensions.
import numpy as np


def count_inside(x, y):
    return int(np.sum(sum(map(np.square, (x, y))) < 0.25))
