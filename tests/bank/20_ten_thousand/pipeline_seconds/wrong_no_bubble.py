# verdict: wrong, diagnosis: forgets_the_bubble
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
    return m * v * slot + m * seconds["head"] + seconds["gradients"]
