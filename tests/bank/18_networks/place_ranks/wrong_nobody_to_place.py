# verdict: wrong, diagnosis: takes_anything
def place_ranks(hosts, slots, p, by):
    if p == 0:
        return []
    if by not in ("slot", "node"):
        raise ValueError("by")
    if p > sum(slots):
        raise ValueError("p")
    if by == "slot":
        return [h for h, s in zip(hosts, slots) for _ in range(s)][:p]
    out, free = [], list(slots)
    while len(out) < p:
        for i, h in enumerate(hosts):
            if free[i] and len(out) < p:
                free[i] -= 1
                out.append(h)
    return out
