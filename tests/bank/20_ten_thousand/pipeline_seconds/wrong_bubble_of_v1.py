# verdict: wrong, diagnosis: bubble_of_v1
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
    return v * (m + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
