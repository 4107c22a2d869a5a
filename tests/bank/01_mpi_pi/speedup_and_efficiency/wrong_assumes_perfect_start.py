# verdict: wrong, diagnosis: assumes_perfect_start
def speedup_and_efficiency(ranks, seconds):
    one_rank = seconds[0] * ranks[0]
    speedup = one_rank / seconds
    return speedup, speedup / ranks
