# verdict: wrong, diagnosis: python_loop
def count_inside(x, y):
    radii = [(a**2 + b**2) ** 0.5 for a, b in zip(x, y)]
    return len([r for r in radii if r < 0.5])
