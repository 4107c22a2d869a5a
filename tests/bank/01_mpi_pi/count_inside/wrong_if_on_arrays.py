# verdict: raised, diagnosis: ValueError
def count_inside(x, y):
    inside = 0
    if x * x + y * y < 0.25:
        inside += 1
    return inside
