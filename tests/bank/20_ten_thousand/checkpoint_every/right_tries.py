# verdict: passed
# differs: It tries one number of steps after the other as long as the time per step falls: no formula to trust.
import math


def checkpoint_every(step, save, mtbf, ranks):
    failure = mtbf / ranks

    def longer(n):
        return math.expm1((n * step + save) / failure) / (n * step)

    n = 1
    while longer(n + 1) < longer(n):
        n += 1
    return n
