# verdict: wrong, diagnosis: other_buckets
def buckets(sizes, first_cap, cap):
    out, held, limit = [[]], 0, first_cap
    for k in reversed(range(len(sizes))):
        if held > limit or (held == limit and len(out) > 1):
            out.append([])
            held, limit = 0, cap
        out[-1].append(k)
        held += sizes[k]
    return [b for b in out if b]
