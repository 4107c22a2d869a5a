# verdict: wrong, diagnosis: equal_shares
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError(f"{p} ranks by {by} on {sum(slots)} slots")
    if by == "slot":
        places = [host for host, room in zip(hosts, slots) for _ in range(slots[0])]
    else:
        places = []
        for turn in range(slots[0]):
            places += [host for host, room in zip(hosts, slots)]
    return places[:p]
