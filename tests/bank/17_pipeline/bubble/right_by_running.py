# verdict: passed
# differs: The same as a fraction of integers, which is divided at the very end.
def bubble(p, m, v=1):
    from fractions import Fraction

    slots = v * m + p - 1
    return float(Fraction(p - 1, slots))
