# verdict: wrong, diagnosis: not_the_best
import math


def checkpoint_every(step, save, mtbf, ranks):
    failure = mtbf / (ranks + 1)

    def longer(n):
        return math.expm1((n * step + save) / failure) / (n * step)

    n = 1
    while longer(n + 1) < longer(n):
        n += 1
    return n
