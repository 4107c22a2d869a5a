# verdict: wrong, diagnosis: forgets_the_gradients
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
    return (m * v + p - 1) * slot + m * seconds["head"]
