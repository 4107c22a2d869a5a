# verdict: wrong, diagnosis: p_slots_of_waiting
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
    return (m * v + p) * slot + m * seconds["head"] + seconds["gradients"]
