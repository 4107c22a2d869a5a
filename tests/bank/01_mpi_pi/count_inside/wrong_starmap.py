# verdict: wrong, diagnosis: python_loop
import math
from itertools import starmap


def count_inside(x, y):
    return sum(distance < 0.5 for distance in starmap(math.hypot, zip(x, y)))
