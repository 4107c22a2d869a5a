# verdict: wrong, diagnosis: upside_down
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds / seconds[0]
    return speedup, speedup / (ranks / ranks[0])
