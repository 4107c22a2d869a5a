# verdict: wrong, diagnosis: unrecognised
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
    return (m * v + min(m, p) - 1) * slot + m * seconds["head"] + seconds["gradients"]
