# verdict: wrong, diagnosis: counted_from_one
def buckets(sizes, first_cap, cap):
    out, held, limit = [], None, first_cap
    for k in reversed(range(len(sizes))):
        if held is None or held >= limit:
            limit = first_cap if held is None else cap
            out.append([])
            held = 0
        held += sizes[k]
        out[-1].append(k + 1)
    return out
