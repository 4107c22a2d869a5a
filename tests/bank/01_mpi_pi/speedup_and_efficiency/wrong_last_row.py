# verdict: wrong, diagnosis: last_row
def speedup_and_efficiency(ranks, seconds):
    s = seconds[-1] / seconds
    return s, s * ranks[-1] / ranks
