# verdict: wrong, diagnosis: waits_too_long
def heavy_head():
    return [" ".join(f"F{k} B{k} W{k}" for k in range(8))] * 4
