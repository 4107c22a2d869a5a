# verdict: wrong, diagnosis: not_by_slot
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError(f"{p} ranks by {by} on {sum(slots)} slots")
    return [h for turn in range(max(slots)) for h, room in zip(hosts, slots) if room > turn][:p]
