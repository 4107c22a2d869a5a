# verdict: wrong, diagnosis: small_bucket_last
def buckets(sizes, first_cap, cap):
    result, current, held = [], [], 0
    for k in range(len(sizes)):
        current.append(k)
        held += sizes[k]
        if held >= (cap if result else first_cap):
            result.append(current)
            current, held = [], 0
    if current:
        result.append(current)
    return [bucket[::-1] for bucket in result[::-1]]
