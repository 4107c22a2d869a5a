# verdict: wrong, diagnosis: equal_counts
def partition(costs, p):
    n = len(costs)
    if p > n:
        raise ValueError("no")
    return [n // p + (r < n % p) for r in range(p)]
