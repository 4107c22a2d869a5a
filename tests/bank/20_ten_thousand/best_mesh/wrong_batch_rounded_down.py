# verdict: wrong, diagnosis: does_not_come_out_even
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for t in range(1, min(gpus, per_node) + 1):
        if gpus % t or model["heads"] % t:
            continue
        for p in range(1, gpus // t + 1):
            if gpus // t % p or model["layers"] % p:
                continue
            d = gpus // t // p
            m = batch // d
            if max(sum(rank_memory(model, (d, p, t), k, m, 1).values()) for k in range(p)) > memory:
                continue
            try:
                found[d, p, t] = seconds((d, p, t), m)
            except ValueError:
                continue
    if not found:
        raise ValueError("nothing fits")
    return min(found, key=found.get)
