# verdict: passed
def buckets(sizes, first_cap, cap):
    result = []
    room = 0
    for k, size in list(enumerate(sizes))[::-1]:
        if room <= 0:
            room = cap if result else first_cap
            result.append([])
        result[-1].append(k)
        room -= size
    return result
