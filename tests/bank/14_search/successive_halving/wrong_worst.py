# verdict: wrong, diagnosis: keeps_the_worst
import math


def key_of(losses):
    return lambda i: (math.isnan(losses[i]), 0.0 if math.isnan(losses[i]) else losses[i], i)


def successive_halving(train, n, r, R, eta):
    alive, rungs, k = list(range(n)), [], 0
    while r * eta**k <= R and n // eta**k > 0:
        losses = {i: train(i, r * eta**k) for i in alive}
        ranked = sorted(alive, key=key_of(losses))[::-1]
        rungs.append(ranked)
        k += 1
        alive = ranked[: n // eta**k]
    return rungs
