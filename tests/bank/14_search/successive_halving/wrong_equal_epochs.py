# verdict: wrong, diagnosis: equal_epochs
import math


def key_of(losses):
    return lambda i: (math.isnan(losses[i]), losses[i], i)


def successive_halving(train, n, r, R, eta):
    alive, rungs, k = list(range(n)), [], 0
    while r * eta**k <= R and n // eta**k > 0:
        losses = {i: train(i, r * (k + 1)) for i in alive}
        ranked = sorted(alive, key=key_of(losses))
        rungs.append(ranked)
        k += 1
        alive = ranked[: n // eta**k]
    return rungs
