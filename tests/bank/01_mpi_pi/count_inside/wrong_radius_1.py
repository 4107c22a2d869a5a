# verdict: wrong, diagnosis: counts_all
def count_inside(x, y):
    return int((x**2 + y**2 < 1).sum())
