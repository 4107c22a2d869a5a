# verdict: wrong, diagnosis: refuses_what_can_be
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p, g = nodes * per_node, per_node
    if algorithm not in ("ring", "doubling", "halving_doubling", "hierarchical") or p & (p - 1):
        raise ValueError(f"{algorithm} on {p} ranks")
    if algorithm == "ring":
        alpha, beta = between if nodes > 1 else inside
        return 2 * (p - 1) * (alpha + nbytes / p * beta)
    if algorithm == "hierarchical":
        at_home = 2 * (g - 1) * (inside[0] + nbytes / g * inside[1])
        return at_home + 2 * (nodes - 1) * (between[0] + nbytes / nodes * between[1])
    seconds, d = 0.0, 1
    while d < p:
        (alpha, beta), sharing = (inside, 1) if d < g else (between, g)
        size = nbytes if algorithm == "doubling" else nbytes * d / p
        seconds += (1 if algorithm == "doubling" else 2) * (alpha + sharing * size * beta)
        d *= 2
    return seconds
