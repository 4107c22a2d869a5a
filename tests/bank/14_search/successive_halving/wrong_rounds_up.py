# verdict: wrong, diagnosis: rounds_up
import math


def successive_halving(train, n, r, R, eta):
    alive, rungs, epochs = list(range(n)), [], r
    while epochs <= R:
        losses = {i: train(i, epochs) for i in alive}
        alive = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i], i))
        rungs.append(alive)
        alive, epochs = alive[: math.ceil(len(alive) / eta)], epochs * eta
    return rungs
