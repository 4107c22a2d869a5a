# verdict: passed
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    efficiency = speedup / (ranks / ranks[0])
    return speedup, efficiency
