# verdict: wrong, diagnosis: no_barrier
def utilisation(make, step, depth):
    bands = []
    for times in make:
        made, end, taken, data = 0.0, 0.0, [], 0.0
        for k, seconds in enumerate(times):
            begun = end if depth == 0 else max(made, taken[k - depth] if k >= depth else 0.0)
            made = begun + seconds
            taken.append(max(made, end))
            data += taken[k] - end
            end = taken[k] + step
        bands.append((step * len(times), data, 0.0))
    return bands
