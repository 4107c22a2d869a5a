# verdict: passed
# differs: A program plays the ranks: a backward pass where one can run, else a forward pass where there is memory.
def three_alive():
    """Each rank goes on with a backward pass where it can, else with a forward pass where it has memory for one."""
    most, seconds, with_weights = (
        [3, 3, 2, 1],
        {"F": [1.0, 1.0, 1.0, 1.0], "B": [2.0, 2.0, 2.0, 2.0], "W": [1.0, 1.0, 1.0, 1.0]},
        False,
    )
    done, clock, orders = {}, [0.0] * 4, [[] for _ in range(4)]
    count = [dict.fromkeys("FBW", 0) for _ in range(4)]

    def ready(rank, what, k):
        if what == "W":
            return done.get(("B", k, rank))
        before = ("F", k, rank - 1) if what == "F" else ("B", k, rank + 1)
        own = 0.0 if what == "F" else done.get(("F", k, rank))
        other = 0.0 if before[2] in (-1, 4) else done.get(before)
        return None if own is None or other is None else max(own, other)

    while sum(map(len, orders)) < 4 * 8 * (2 + with_weights):
        possible = []
        for rank, n in enumerate(count):
            alive = n["F"] - n["W" if with_weights else "B"]
            for place, what in enumerate("BFW" if with_weights else "BF"):
                limit = n["B"] if what == "W" else 8
                when = ready(rank, what, n[what]) if n[what] < limit else None
                if when is not None and not (what == "F" and alive == most[rank]):
                    possible.append((max(clock[rank], when), place, rank, what))
        start, _, rank, what = min(possible)
        clock[rank] = done[what, count[rank][what], rank] = start + seconds[what][rank]
        orders[rank].append(f"{what}{count[rank][what]}")
        count[rank][what] += 1
    return [" ".join(order) for order in orders]
