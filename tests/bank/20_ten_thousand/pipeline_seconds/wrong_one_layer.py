# verdict: wrong, diagnosis: one_layer
def pipeline_seconds(p, m, v, layers, seconds):
    slot = seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"]
    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
