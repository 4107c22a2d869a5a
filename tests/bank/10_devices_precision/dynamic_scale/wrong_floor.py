# verdict: wrong, diagnosis: stops_at_one


def dynamic_scale(found_inf, start, growth_interval):
    s, g, out = start, 0, []
    for f in found_inf:
        if f:
            s, g = max(1.0, s / 2), 0
        else:
            g += 1
            if g % growth_interval == 0:
                s *= 2
        out.append(s)
    return out
