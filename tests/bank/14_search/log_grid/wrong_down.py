# verdict: wrong, diagnosis: takes_anything
def log_grid(low, high, n):
    if low <= 0 or n < 2:
        raise ValueError("no logarithm")
    return [low * (high / low) ** (k / (n - 1)) for k in range(n)]
