# verdict: wrong, diagnosis: best_so_far
import math


def successive_halving(train, n, r, R, eta):
    alive, rungs, k, best = list(range(n)), [], 0, [math.inf] * n
    while r * eta**k <= R and n // eta**k > 0:
        for i in alive:
            best[i] = min(best[i], train(i, r * eta**k))
        ranked = sorted(alive, key=lambda i: (best[i], i))
        rungs.append(ranked)
        k += 1
        alive = ranked[: n // eta**k]
    return rungs
