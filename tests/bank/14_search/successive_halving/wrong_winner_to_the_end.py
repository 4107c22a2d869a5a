# verdict: wrong, diagnosis: trains_the_winner_on
def successive_halving(train, n, r, R, eta):
    rungs, alive, k = [], list(range(n)), 0
    while n // eta**k >= 1 and r * eta**k <= R:
        alive = alive[: n // eta**k]
        losses = {i: train(i, r * eta**k) for i in alive}
        alive = sorted(alive, key=lambda i: (losses[i] != losses[i], losses[i] if losses[i] == losses[i] else 0, i))
        rungs.append(list(alive))
        k += 1
    if rungs and r * eta ** (k - 1) < R:
        train(rungs[-1][0], R)
    return rungs
