# verdict: passed
# differs: The standard library's median, row by row, and two conditions that must both hold.
from statistics import median


def stragglers(times, k):
    own = [median(row) for row in times.tolist()]
    centre = median(own)
    spread = 1.4826 * median(abs(one - centre) for one in own)
    return [r for r, one in enumerate(own) if one > centre + k * spread and one > 1.02 * centre]
