# verdict: passed
def mean(values):
    values = list(values)
    return sum(values) / len(values)


def fit_alpha_beta(sizes_bytes, round_trip_s):
    t = [0.5 * float(s) for s in round_trip_s]
    n = [float(s) for s in sizes_bytes]
    centre_n, centre_t = mean(n), mean(t)
    beta = sum((a - centre_n) * (b - centre_t) for a, b in zip(n, t)) / sum((a - centre_n) ** 2 for a in n)
    return [centre_t - beta * centre_n, beta]
