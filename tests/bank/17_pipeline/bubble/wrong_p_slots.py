# verdict: wrong, diagnosis: p_slots_idle
def bubble(p, m, v=1):
    return p / (v * m + p)
