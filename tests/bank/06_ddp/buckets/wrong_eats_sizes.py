# verdict: wrong, diagnosis: modifies_input
def buckets(sizes, first_cap, cap):
    out, held, limit = [], None, first_cap
    while sizes:
        if held is None or held >= limit:
            limit = first_cap if held is None else cap
            out.append([])
            held = 0
        held += sizes.pop()
        out[-1].append(len(sizes))
    return out
