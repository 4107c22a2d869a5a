# verdict: passed
# differs: A bucket is opened when there is no room left in the last one, so nothing has to be closed at the end.
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
