# verdict: wrong, diagnosis: ring_shares_the_card
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p, g, N, n = nodes * per_node, per_node, nodes, nbytes
    if algorithm not in ("ring", "doubling", "halving_doubling", "hierarchical"):
        raise ValueError(algorithm)
    if "doubling" in algorithm and p & (p - 1):
        raise ValueError(p)

    def cost(link, size, at_once=1):
        return link[0] + size * at_once * link[1]

    def pair(d, size):
        return cost(inside, size) if d < g else cost(between, size, g)

    if algorithm == "ring":
        return 2 * (p - 1) * (cost(between, n / p, g) if N > 1 else cost(inside, n / p))
    distances = [2**k for k in range(p.bit_length() - 1)]
    if algorithm == "doubling":
        return sum(pair(d, n) for d in distances)
    if algorithm == "halving_doubling":
        return sum(2 * pair(d, n * d / p) for d in distances)
    return 2 * (g - 1) * cost(inside, n / g) + 2 * (N - 1) * cost(between, n / p, g)
