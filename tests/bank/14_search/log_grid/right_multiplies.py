# verdict: passed
def log_grid(low, high, n):
    if not 0 < low < high or n < 2:
        raise ValueError
    factor, points = (high / low) ** (1 / (n - 1)), [low]
    for _ in range(n - 1):
        points.append(points[-1] * factor)
    return points
