# verdict: wrong, diagnosis: wrong_type
def speedup_and_efficiency(ranks, seconds):
    return seconds[0] / seconds
