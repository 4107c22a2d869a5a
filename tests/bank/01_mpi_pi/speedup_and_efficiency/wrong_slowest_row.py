# verdict: wrong, diagnosis: slowest_row
def speedup_and_efficiency(ranks, seconds):
    speedup = max(seconds) / seconds
    return speedup, speedup * ranks[0] / ranks
