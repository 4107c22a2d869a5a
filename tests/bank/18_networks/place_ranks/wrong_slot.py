# verdict: wrong, diagnosis: not_by_node
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError(f"{p} ranks by {by} on {sum(slots)} slots")
    return [host for host, room in zip(hosts, slots) for _ in range(room)][:p]
