# verdict: wrong, diagnosis: never_grows
def dynamic_scale(found_inf, start, growth_interval):
    scale, good, scales = start, 0, []
    for inf in found_inf:
        if inf:
            scale = scale / 2
            good = 0
        else:
            good += 1
            if good == growth_interval:
                good = 0
        scales.append(scale)
    return scales
