# verdict: wrong, diagnosis: overfills_a_host
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError(f"{p} ranks by {by} on {sum(slots)} slots")
    if by == "slot":
        places = [host for host, room in zip(hosts, slots) for _ in range(room)]
    else:
        places = [hosts[r % len(hosts)] for r in range(p)]
    return places[:p]
