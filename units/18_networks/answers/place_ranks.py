# Right and wrong answers to `place_ranks`. In files of their own: autograder bank --write DIR

# %% right_loop: passed
# differs: It walks round the hosts and takes a place where there is one: a rank at a time, without a list of places.
def place_ranks(hosts, slots, p, by):
    if p > sum(slots):
        raise ValueError("not enough slots")
    left, result, i = list(slots), [], 0
    while len(result) < p:
        if left[i % len(hosts)] > 0:
            result.append(hosts[i % len(hosts)])
            left[i % len(hosts)] -= 1
            if by == "slot":
                continue
        i += 1
    if by not in {"slot", "node"}:
        raise ValueError(by)
    return result

# %% right_places: passed
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError(f"{p} ranks by {by} on {sum(slots)} slots")
    if by == "slot":
        places = [host for host, room in zip(hosts, slots) for _ in range(room)]
    else:
        places = []
        for turn in range(max(slots)):
            places += [host for host, room in zip(hosts, slots) if room > turn]
    return places[:p]

# %% wrong_any_spelling: wrong, takes_anything, levels 1 1 0
def place_ranks(hosts, slots, p, by):
    by = by.strip().lower().rstrip("s")
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError(by)
    turns = range(max(slots, default=0))
    if by == "slot":
        placed = [host for host, room in zip(hosts, slots) for _ in range(room)]
    else:
        placed = [host for turn in turns for host, room in zip(hosts, slots) if turn < room]
    return placed[:p]

# %% wrong_anything (right_places): wrong, takes_anything, levels 1 1 0
-    if by not in ("slot", "node") or p > sum(slots):
-        raise ValueError(f"{p} ranks by {by} on {sum(slots)} slots")

# %% wrong_first_host_without_a_slot: wrong, overfills_a_host, levels 1 0 1
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError("cannot place")
    free, placed, i = list(slots), [], 0
    for _ in range(p):
        placed.append(hosts[i])
        free[i] -= 1
        if by == "node":
            i = (i + 1) % len(hosts)
        while any(free) and free[i] == 0:
            i = (i + 1) % len(hosts)
    return placed

# %% wrong_first_slots (right_places): wrong, equal_shares, levels 1 0 1
-        places = [host for host, room in zip(hosts, slots) for _ in range(room)]
+        places = [host for host, room in zip(hosts, slots) for _ in range(slots[0])]
@@
-        for turn in range(max(slots)):
-            places += [host for host, room in zip(hosts, slots) if room > turn]
+        for turn in range(slots[0]):
+            places += [host for host, room in zip(hosts, slots)]

# %% wrong_from_the_first_again: wrong, from_the_first_again, levels 1 0 1
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

# %% wrong_no_slots_at_all: wrong, refuses_what_can_be, levels 1 0 1
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node"):
        raise ValueError("by")
    left = [(h, s) for h, s in zip(hosts, slots) if s > 0]
    if not left or p > sum(slots):
        raise ValueError("no room")
    if by == "slot":
        return [h for h, s in left for _ in range(s)][:p]
    placed, free, i = [], [s for _, s in left], 0
    while len(placed) < p:
        if free[i]:
            placed.append(left[i][0])
            free[i] -= 1
        i = (i + 1) % len(left)
    return placed

# %% wrong_no_such_way (right_places): wrong, takes_anything, levels 1 1 0
-    if by not in ("slot", "node") or p > sum(slots):
+    if p > sum(slots):

# %% wrong_nobody_by_node: wrong, wrong_length, levels 0 1 1
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError("cannot place")
    if by == "slot":
        return [h for h, s in zip(hosts, slots) for _ in range(s)][:p]
    placed = []
    for turn in range(max(slots)):
        for host, room in zip(hosts, slots):
            if room > turn:
                placed.append(host)
                if len(placed) == p:
                    return placed
    return placed

# %% wrong_nobody_to_place: wrong, takes_anything, levels 1 1 0
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

# %% wrong_node: wrong, not_by_slot, levels 0 0 1
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError(f"{p} ranks by {by} on {sum(slots)} slots")
    return [h for turn in range(max(slots)) for h, room in zip(hosts, slots) if room > turn][:p]

# %% wrong_one_full_host: wrong, overfills_a_host, levels 1 0 1
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError(by)
    free, placed, i = list(slots), [], 0
    for _ in range(p):
        if by == "slot":
            if free[i] == 0:
                i += 1
        else:
            while free[i % len(hosts)] == 0:
                i += 1
        free[i % len(hosts)] -= 1
        placed.append(hosts[i % len(hosts)])
        i += by == "node"
    return placed

# %% wrong_part_of_a_word: wrong, takes_anything, levels 1 1 0
def place_ranks(hosts, slots, p, by):
    if by not in "slot node":
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

# %% wrong_refuses_full: wrong, refuses_what_can_be, levels 0 0 1
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p >= sum(slots):
        raise ValueError
    if by == "slot":
        return [h for h, s in zip(hosts, slots) for _ in range(s)][:p]
    return [hosts[i] for k in range(max(slots)) for i in range(len(hosts)) if k < slots[i]][:p]

# %% wrong_round_robin (right_places): wrong, overfills_a_host, levels 1 0 1
-        places = []
-        for turn in range(max(slots)):
-            places += [host for host, room in zip(hosts, slots) if room > turn]
+        places = [hosts[r % len(hosts)] for r in range(p)]

# %% wrong_skips_behind_a_full_host: wrong, skips_a_turn, levels 0 0 1
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError("cannot place them")
    left = [[host, n] for host, n in zip(hosts, slots) if n]
    placed, i = [], 0
    while len(placed) < p:
        i %= len(left)
        placed.append(left[i][0])
        left[i][1] -= 1
        if left[i][1] == 0:
            left.pop(i)
            i += by == "node"
        elif by == "node":
            i += 1
    return placed

# %% wrong_slot: wrong, not_by_node, levels 0 0 1
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError(f"{p} ranks by {by} on {sum(slots)} slots")
    return [host for host, room in zip(hosts, slots) for _ in range(room)][:p]

# %% wrong_swapped (right_places): wrong, not_by_slot, levels 0 0 1
-    if by == "slot":
+    if by == "node":

# %% wrong_turn_from_rank_number: wrong, by_rank_number, levels 1 0 1
def place_ranks(
    hosts: list[str], slots: list[int], p: int, by: str
) -> list[str]:
    if by not in ("slot", "node"):
        raise ValueError(by)
    if p > sum(slots):
        raise ValueError("more ranks than slots")
    free = list(slots)
    placed = []
    for rank in range(p):
        k = rank % len(hosts) if by == "node" else 0
        while free[k] == 0:
            k = (k + 1) % len(hosts)
        free[k] -= 1
        placed.append(hosts[k])
    return placed

# %% wrong_whole_turns: wrong, wrong_length, levels 1 0 1
def place_ranks(hosts, slots, p, by):
    if by not in ("slot", "node"):
        raise ValueError("by")
    if p > sum(slots):
        raise ValueError("p")
    if by == "slot":
        return [h for h, s in zip(hosts, slots) for _ in range(s)][:p]
    out, free = [], list(slots)
    while len(out) < p:
        for i, h in enumerate(hosts):
            if free[i]:
                free[i] -= 1
                out.append(h)
    return out
