# verdict: wrong, diagnosis: all_links_alike
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p = nodes * per_node
    inside = between
    if algorithm == "ring":
        alpha, beta = inside if nodes == 1 else between
        return 2 * (p - 1) * (alpha + nbytes / p * beta)
    if algorithm == "hierarchical":
        at_home = 2 * (per_node - 1) * (inside[0] + nbytes / per_node * inside[1])
        return at_home + 2 * (nodes - 1) * (between[0] + nbytes / nodes * between[1])
    if algorithm not in ("doubling", "halving_doubling") or p & (p - 1):
        raise ValueError(f"{algorithm} on {p} ranks")
    seconds, d = 0.0, 1
    while d < p:
        (alpha, beta), sharing = (inside, 1) if d < per_node else (between, per_node)
        if algorithm == "doubling":
            seconds += alpha + sharing * nbytes * beta
        else:
            seconds += 2 * (alpha + sharing * nbytes * d / p * beta)
        d *= 2
    return seconds
