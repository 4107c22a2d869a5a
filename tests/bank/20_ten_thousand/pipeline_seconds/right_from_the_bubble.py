# verdict: passed
# differs: The busy time divided by one minus the bubble's share: unit 17's formula turned round.
def pipeline_seconds(p, m, v, layers, seconds):
    layer = seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"]
    busy = m * v * layers * layer
    share = (p - 1) / (v * m + p - 1)
    return busy / (1 - share) + m * seconds["head"] + seconds["gradients"]
