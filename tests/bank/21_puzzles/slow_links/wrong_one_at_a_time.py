# verdict: wrong, diagnosis: one_at_a_time
def slow_links():
    return [" ".join(f"F{k} B{k}" for k in range(8))] * 4
