# verdict: raised, diagnosis: TypeError
def speedup_and_efficiency(ranks, seconds):
    speedup = [seconds[0] / t for t in seconds]
    more_ranks = [p / ranks[0] for p in ranks]
    return speedup, speedup / more_ranks
