# verdict: wrong, diagnosis: returns_mask
def count_inside(x, y):
    return x * x + y * y < 0.25
