# verdict: wrong, diagnosis: efficiency_times_ranks
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    efficiency = ranks / ranks[0] * speedup
    return speedup, efficiency
