# verdict: wrong, diagnosis: forgets_the_all_reduces
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"])
    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
