# verdict: wrong, diagnosis: keeps_something
def hyperband_brackets(R, eta, table=[]):
    if R < 1 or eta < 2:
        raise ValueError("R at least 1, eta at least 2")
    s_max = 0
    while eta ** (s_max + 1) <= R:
        s_max += 1
    for s in range(s_max, -1, -1):
        n = (s_max + 1) // (s + 1) * eta**s
        table.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
    return table
