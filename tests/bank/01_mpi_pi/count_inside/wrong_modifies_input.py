# verdict: wrong, diagnosis: modifies_input
def count_inside(x, y):
    x *= x
    y *= y
    x += y
    return int((x < 0.25).sum())
