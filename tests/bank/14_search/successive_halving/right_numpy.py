# verdict: passed
# differs: A lexical sort puts the numbers of equal losses in order and NaNs at the end.
import numpy as np


def successive_halving(train, n, r, R, eta):
    rungs, alive, epochs = [], np.arange(n), r
    while epochs <= R and len(alive):
        losses = np.array([train(i, epochs) for i in alive])
        alive = alive[np.lexsort((alive, losses))]  # nan is sorted to the end
        rungs.append(alive)
        alive, epochs = alive[: len(alive) // eta], epochs * eta
    return rungs
