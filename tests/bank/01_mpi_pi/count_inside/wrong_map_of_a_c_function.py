# verdict: wrong, diagnosis: python_loop
import math


def count_inside(x, y):
    return sum(map((0.5).__gt__, map(math.hypot, x, y)))
