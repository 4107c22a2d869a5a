# verdict: wrong, diagnosis: other_buckets
def buckets(sizes, first_cap, cap):
    out, held, limit = [], None, first_cap
    for k in sorted(range(len(sizes)), key=lambda k: -sizes[k]):
        if held is None or held >= limit:
            limit = first_cap if held is None else cap
            out.append([])
            held = 0
        held += sizes[k]
        out[-1].append(k)
    return out
