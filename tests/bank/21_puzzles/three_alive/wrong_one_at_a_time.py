# verdict: wrong, diagnosis: one_at_a_time
def three_alive():
    return [" ".join(f"F{k} B{k}" for k in range(8))] * 4
