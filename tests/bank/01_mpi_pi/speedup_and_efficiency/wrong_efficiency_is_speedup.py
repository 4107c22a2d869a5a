# verdict: wrong, diagnosis: efficiency_is_speedup
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    efficiency = seconds[0] / seconds
    return speedup, efficiency
