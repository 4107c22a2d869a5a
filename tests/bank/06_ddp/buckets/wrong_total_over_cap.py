# verdict: wrong, diagnosis: remainder_carried_over
def buckets(sizes, first_cap, cap):
    out, held = [], 0
    for k in reversed(range(len(sizes))):
        b = 0 if held < first_cap else 1 + (held - first_cap) // cap
        while len(out) <= b:
            out.append([])
        out[b].append(k)
        held += sizes[k]
    return [b for b in out if b]
