# verdict: passed
# differs: From point to point the same ratio: the definition, without logarithms.
def log_grid(low, high, n):
    if not (0 < low < high) or n <= 1:
        raise ValueError(f"no grid from {low} to {high} with {n} points")
    ratio = (high / low) ** (1 / (n - 1))
    return [low * ratio**k for k in range(n)]
