# verdict: wrong, diagnosis: two_all_reduces
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"] + 2 * seconds["all_reduce"])
    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
