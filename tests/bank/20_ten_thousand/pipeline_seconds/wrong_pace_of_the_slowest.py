# verdict: wrong, diagnosis: output_on_every_stage
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
    if seconds["head"] > slot:  # then all go at the last stage's pace
        return (m + p - 1) * (slot + seconds["head"]) + seconds["gradients"]
    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
