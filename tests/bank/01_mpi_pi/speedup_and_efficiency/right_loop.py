# verdict: passed
def speedup_and_efficiency(ranks, seconds):
    speedups, efficiencies = [], []
    for p, t in zip(ranks, seconds):
        s = seconds[0] / t
        speedups.append(s)
        efficiencies.append(s * ranks[0] / p)
    return speedups, efficiencies
