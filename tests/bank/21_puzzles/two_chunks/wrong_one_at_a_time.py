# verdict: wrong, diagnosis: one_at_a_time
def two_chunks():
    return [" ".join(f"F{k}.0 F{k}.1 B{k}.1 B{k}.0" for k in range(8))] * 4
