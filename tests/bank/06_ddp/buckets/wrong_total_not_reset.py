# verdict: wrong, diagnosis: never_emptied


def buckets(sizes, first_cap, cap):
    result, current, total, limit = [], [], 0, first_cap
    for i in range(len(sizes) - 1, -1, -1):
        current.append(i)
        total += sizes[i]
        if total >= limit:
            result.append(current)
            current = []
            limit = cap
    if current:
        result.append(current)
    return result
