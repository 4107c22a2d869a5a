# verdict: passed
def utilisation(make, step, depth):
    p = len(make)
    made, end = [0.0] * p, [0.0] * p
    taken = [[] for _ in range(p)]
    bands = [[0.0, 0.0, 0.0] for _ in range(p)]
    for k in range(len(make[0])):
        for r in range(p):
            if depth == 0:
                begun = end[r]
            else:
                begun = max(made[r], taken[r][k - depth] if k >= depth else 0.0)
            made[r] = begun + make[r][k]
            taken[r].append(max(made[r], end[r]))
        over = max(taken[r][k] for r in range(p)) + step
        for r in range(p):
            bands[r][0] += step
            bands[r][1] += taken[r][k] - end[r]
            bands[r][2] += over - taken[r][k] - step
            end[r] = over
    return [tuple(band) for band in bands]
