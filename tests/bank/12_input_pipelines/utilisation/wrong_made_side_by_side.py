# verdict: wrong, diagnosis: side_by_side
def utilisation(make, step, depth):
    p, steps = len(make), len(make[0])
    data, others, starts, end = [0.0] * p, [0.0] * p, [], 0.0
    for k in range(steps):
        here = []
        for r in range(p):
            if depth == 0:
                begun = end
            else:
                begun = starts[k - depth][r] if k >= depth else 0.0
            here.append(max(end, begun + make[r][k]))
        starts.append(here)
        for r in range(p):
            data[r] += here[r] - end
            others[r] += max(here) - here[r]
        end = max(here) + step
    return [(steps * step, data[r], others[r]) for r in range(p)]
