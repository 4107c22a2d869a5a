# verdict: wrong, diagnosis: not_the_best
import math


def checkpoint_every(step, save, mtbf, ranks):
    failure = mtbf / ranks

    def longer(n):
        return math.expm1((n * step + save) / failure) / n

    n = 1
    while longer(n + 2) < longer(n):
        n += 1
    return n
