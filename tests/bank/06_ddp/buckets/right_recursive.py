# verdict: passed
def take(numbers, sizes, cap):
    held = 0
    for n, k in enumerate(numbers, start=1):
        held += sizes[k]
        if held >= cap:
            return numbers[:n], numbers[n:]
    return numbers, []


def buckets(sizes, first_cap, cap):
    waiting, filled = list(range(len(sizes)))[::-1], []
    while waiting:
        bucket, waiting = take(waiting, sizes, first_cap if not filled else cap)
        filled.append(tuple(bucket))
    return filled
