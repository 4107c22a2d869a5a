# verdict: wrong, diagnosis: forgets_the_output
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
    return (m * v + p - 1) * slot + (m if p > 1 else 0) * seconds["head"] + seconds["gradients"]
