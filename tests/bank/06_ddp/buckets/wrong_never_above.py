# verdict: wrong, diagnosis: never_above_the_cap
def buckets(sizes, first_cap, cap):
    result, held = [[]], 0
    for k in reversed(range(len(sizes))):
        limit = first_cap if len(result) == 1 else cap
        if result[-1] and held + sizes[k] > limit:
            result.append([])
            held = 0
        result[-1].append(k)
        held += sizes[k]
    return [bucket for bucket in result if bucket]
