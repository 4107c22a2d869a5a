# verdict: wrong, diagnosis: counts_all_steps


def dynamic_scale(found_inf, start, growth_interval):
    s, out = start, []
    for k, f in enumerate(found_inf, 1):
        if f:
            s /= 2
        elif k % growth_interval == 0:
            s *= 2
        out.append(s)
    return out
