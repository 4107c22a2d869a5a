# verdict: wrong, diagnosis: first_run_on_one_rank
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    return speedup, speedup / ranks
