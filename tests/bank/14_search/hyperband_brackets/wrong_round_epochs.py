# verdict: wrong, diagnosis: unrecognised
def hyperband_brackets(R, eta):
    if R < 1 or eta < 2:
        raise ValueError
    top = 0
    while eta ** (top + 1) <= R:
        top += 1
    table = []
    for s in range(top, -1, -1):
        n = (top + 1) // (s + 1) * eta**s
        table.append([(n // eta**i, round(R / eta ** (s - i))) for i in range(s + 1)])
    return table
