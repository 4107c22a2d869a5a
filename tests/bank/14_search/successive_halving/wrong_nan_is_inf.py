# verdict: wrong, diagnosis: nan_stays
import math


def successive_halving(train, n, r, R, eta):
    alive, rungs, epochs = list(range(n)), [], r
    while alive and epochs <= R:
        losses = {i: train(i, epochs) for i in alive}
        alive = sorted(alive, key=lambda i: (math.inf if math.isnan(losses[i]) else losses[i], i))
        rungs.append(alive)
        alive, epochs = alive[: len(alive) // eta], epochs * eta
    return rungs
