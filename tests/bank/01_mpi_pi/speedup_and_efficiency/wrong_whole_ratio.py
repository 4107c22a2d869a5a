# verdict: wrong, diagnosis: efficiency_wrong
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    return speedup, speedup / (ranks // ranks[0])
