# exercise: count_inside
# must not: end the launcher by running out of its stack
# verdict: anything but passed
# processor time: 1 s
# memory: 256 MB
# deadline: 2
import sys


def count_inside(x, y):
    sys.setrecursionlimit(10**9)

    def down(n):
        return [down(n + 1)]

    return down(0)
