# verdict: passed
# differs: It adds up a mask, in which True counts as 1; points exactly on the circle count here, where drawn numbers hardly ever lie.
def count_inside(x, y):
    """Number of points closer than 1/2 to the middle."""
    radius = 0.5
    return ((x**2 + y**2) <= radius**2).sum()
