# verdict: wrong, diagnosis: ring_not_closed
def step_bytes(shape, work, per_node):
    found = {axis: {"inside": 0.0, "between": 0.0} for axis in ("data", "pipeline", "tensor")}
    m = work["micro_batches"]

    def send(axis, a, b, nbytes):
        found[axis]["inside" if a // per_node == b // per_node else "between"] += nbytes

    for place, axis, nbytes in (
        (0, "data", work["gradient_bytes"]),
        (2, "tensor", 4 * m * work["layers"] * work["tensor_bytes"]),
    ):
        for group in axis_groups(shape, place):
            n = len(group)
            for k in range(n - 1):
                send(axis, group[k], group[k + 1], 2 * (n - 1) / n * nbytes)
    for group in axis_groups(shape, 1):
        for a, b in zip(group, group[1:]):
            send("pipeline", a, b, 2 * m * work["hop_bytes"])
    return found
