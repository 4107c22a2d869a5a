# verdict: wrong, diagnosis: float_logarithm
import math


def hyperband_brackets(R, eta):
    if R < 1 or eta < 2:
        raise ValueError
    s_max = int(math.log(R) / math.log(eta))
    table = []
    for s in range(s_max, -1, -1):
        n = (s_max + 1) // (s + 1) * eta**s
        table.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
    return table
