# verdict: wrong, diagnosis: python_loop
def count_inside(x, y):
    return sum(a * a + b * b < 0.25 for a, b in zip(x, y))
