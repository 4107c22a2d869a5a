# verdict: passed
# differs: It walks round the hosts and takes a place where there is one: a rank at a time, without a list of places.
def place_ranks(hosts, slots, p, by):
    if p > sum(slots):
        raise ValueError("not enough slots")
    left, result, i = list(slots), [], 0
    while len(result) < p:
        if left[i % len(hosts)] > 0:
            result.append(hosts[i % len(hosts)])
            left[i % len(hosts)] -= 1
            if by == "slot":
                continue
        i += 1
    if by not in {"slot", "node"}:
        raise ValueError(by)
    return result
