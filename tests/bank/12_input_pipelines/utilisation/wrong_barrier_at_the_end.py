# verdict: wrong, diagnosis: barrier_at_the_end
def utilisation(make, step, depth):
    bands = []
    for seconds in make:
        made = end = data = 0.0
        starts = []
        for k, one in enumerate(seconds):
            free = end if depth == 0 else starts[k - depth] if k >= depth else 0.0
            made = max(made, free) + one
            starts.append(max(made, end))
            data += starts[-1] - end
            end = starts[-1] + step
        bands.append([len(seconds) * step, data, end])
    last = max(end for _, _, end in bands)
    return [(busy, data, last - end) for busy, data, end in bands]
