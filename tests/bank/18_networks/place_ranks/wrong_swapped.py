# verdict: wrong, diagnosis: not_by_slot
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError(f"{p} ranks by {by} on {sum(slots)} slots")
    if by == "node":
        places = [host for host, room in zip(hosts, slots) for _ in range(room)]
    else:
        places = []
        for turn in range(max(slots)):
            places += [host for host, room in zip(hosts, slots) if room > turn]
    return places[:p]
