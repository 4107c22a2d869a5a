# verdict: passed
import itertools


def best_mesh(model, gpus, batch, per_node, memory, seconds):
    best = None
    for d, p, t in itertools.product([k for k in range(1, gpus + 1) if gpus % k == 0], repeat=3):
        if d * p * t != gpus or batch % d or model["layers"] % p or model["heads"] % t or t > per_node:
            continue
        if all(sum(rank_memory(model, (d, p, t), k, batch // d).values()) <= memory for k in (0, p - 1)):
            s = seconds((d, p, t), batch // d)
            if best is None or s < best[0]:
                best = s, (d, p, t)
    if best is None:
        raise ValueError
    return best[1]
