# verdict: passed
def count_inside(x, y):
    """Number of points closer than 1/2 to the middle."""
    radius = 0.5
    return ((x**2 + y**2) <= radius**2).sum()
