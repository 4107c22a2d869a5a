# verdict: wrong, diagnosis: refuses_what_can_be
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p >= sum(slots):
        raise ValueError
    if by == "slot":
        return [h for h, s in zip(hosts, slots) for _ in range(s)][:p]
    return [hosts[i] for k in range(max(slots)) for i in range(len(hosts)) if k < slots[i]][:p]
