# verdict: wrong, diagnosis: scale_before_the_step
def dynamic_scale(found_inf, start, growth_interval):
    scale, good, scales = start, 0, []
    for inf in found_inf:
        scales.append(scale)
        if inf:
            scale = scale / 2
            good = 0
        else:
            good += 1
            if good == growth_interval:
                scale = scale * 2
                good = 0
    return scales
