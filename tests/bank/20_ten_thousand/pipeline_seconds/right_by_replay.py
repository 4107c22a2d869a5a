# verdict: passed
from labkit.schedules import replay


def pipeline_seconds(p, m, v, layers, seconds):
    forward, backward = (layers * (seconds[way] + 2 * seconds["all_reduce"]) for way in ("forward", "backward"))
    if v > 1:
        return (m * v + p - 1) * (forward + backward) + m * seconds["head"] + seconds["gradients"]
    last = p - 1
    orders = []
    for rank in range(p):
        first = min(m, last - rank)
        order = [("F", k) for k in range(first)]
        for k in range(m):
            order += [("F", first + k)] * (first + k < m) + [("B", k)]
        orders.append(order)
    forwards = [forward] * last + [forward + seconds["head"] / 3]
    backwards = [backward] * last + [backward + seconds["head"] * 2 / 3]
    return replay(orders, p, m, forward=forwards, backward=backwards).elapsed + seconds["gradients"]
