# exercise: count_inside
# must not: hold up the grader by doing nothing
# verdict: too_slow
# deadline: 1
import time


def count_inside(x, y):
    while True:
        time.sleep(100)
