# verdict: wrong, diagnosis: wrong_type
def speedup_and_efficiency(ranks, seconds):
    s = seconds[0] / seconds
    return {"speedup": s, "efficiency": s * ranks[0] / ranks}
