# verdict: wrong, diagnosis: whole_numbers
def dynamic_scale(found_inf, start, growth_interval):
    scale, good, scales = start, 0, []
    for inf in found_inf:
        if inf:
            scale, good = scale // 2, 0
        else:
            good += 1
            if good == growth_interval:
                scale, good = scale * 2, 0
        scales.append(scale)
    return scales
