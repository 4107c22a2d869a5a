# verdict: wrong, diagnosis: rounded_on_the_way
def hyperband_brackets(R, eta):
    if R < 1 or eta < 2:
        raise ValueError("no brackets")
    s_max = 0
    while eta ** (s_max + 1) <= R:
        s_max += 1
    table = []
    for s in reversed(range(s_max + 1)):
        n, r = (s_max + 1) // (s + 1) * eta**s, R * eta ** (-s)
        table.append([(n // eta**i, int(r * eta**i)) for i in range(s + 1)])
    return table
