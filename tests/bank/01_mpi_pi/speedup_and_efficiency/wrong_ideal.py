# verdict: wrong, diagnosis: ideal
def speedup_and_efficiency(ranks, seconds):
    speedup = ranks / ranks[0]
    return speedup, speedup / speedup
