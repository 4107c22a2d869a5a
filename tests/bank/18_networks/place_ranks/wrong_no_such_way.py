# verdict: wrong, diagnosis: takes_anything
def place_ranks(hosts, slots, p, by):
    if p > sum(slots):
        raise ValueError(f"{p} ranks by {by} on {sum(slots)} slots")
    if by == "slot":
        places = [host for host, room in zip(hosts, slots) for _ in range(room)]
    else:
        places = []
        for turn in range(max(slots)):
            places += [host for host, room in zip(hosts, slots) if room > turn]
    return places[:p]
