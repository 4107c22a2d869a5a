# verdict: wrong, diagnosis: from_the_first_again
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError
    if by == "slot":
        return [h for h, s in zip(hosts, slots) for _ in range(s)][:p]
    free, out, i = list(slots), [], 0
    while len(out) < p:
        if free[i]:
            free[i] -= 1
            out.append(hosts[i])
            i = (i + 1) % len(hosts)
        else:
            i = next(j for j in range(len(hosts)) if free[j])
    return out
