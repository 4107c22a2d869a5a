# verdict: wrong, diagnosis: percent
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    return speedup, 100 * speedup * ranks[0] / ranks
