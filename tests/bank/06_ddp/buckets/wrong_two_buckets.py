# verdict: wrong, diagnosis: other_buckets
def buckets(sizes, first_cap, cap):
    ks, held = list(range(len(sizes)))[::-1], 0
    for at, k in enumerate(ks):
        held += sizes[k]
        if held >= first_cap:
            return [b for b in (ks[: at + 1], ks[at + 1 :]) if b]
    return [ks] if ks else []
