# verdict: passed
from itertools import product


def best_mesh(model, gpus, batch, per_node, memory, seconds):
    def even(n, whole):
        return [k for k in range(1, whole + 1) if whole % k == 0 and k <= n]

    found = []
    for t, p in product(even(per_node, model["heads"]), even(gpus, model["layers"])):
        d, rest = divmod(gpus, t * p)
        if not rest and d and batch % d == 0:
            held = rank_memory(model, (d, p, t), 0, batch // d)
            last = rank_memory(model, (d, p, t), p - 1, batch // d)
            if max(sum(held.values()), sum(last.values())) <= memory:
                found.append((seconds((d, p, t), batch // d), (d, p, t)))
    return min(found)[1]  # of nothing it raises ValueError
