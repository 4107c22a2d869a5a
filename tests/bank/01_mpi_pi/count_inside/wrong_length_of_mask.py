# verdict: wrong, diagnosis: counts_all
def count_inside(x, y):
    inside = x * x + y * y < 0.25
    return len(inside)
