# verdict: wrong, diagnosis: ties
import math


def successive_halving(train, n, r, R, eta):
    alive, rungs, epochs = list(range(n)), [], r
    while alive and epochs <= R:
        losses = {i: train(i, epochs) for i in alive}
        alive = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i]))
        rungs.append(alive)
        alive, epochs = alive[: len(alive) // eta], epochs * eta
    return rungs
