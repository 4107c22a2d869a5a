# verdict: wrong, diagnosis: output_on_every_stage
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
    return (m * v + p - 1) * slot + (m + p - 1) * seconds["head"] + seconds["gradients"]
