# verdict: wrong, diagnosis: stops_before_R
import math


def successive_halving(train, n, r, R, eta):
    alive, rungs = list(range(n)), []
    for k in range(int(math.log(R / r) / math.log(eta)) + 1):
        if not alive:
            break
        losses = {i: train(i, r * eta**k) for i in alive}
        alive = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i], i))
        rungs.append(alive)
        alive = sorted(alive[: len(alive) // eta])
    return rungs
