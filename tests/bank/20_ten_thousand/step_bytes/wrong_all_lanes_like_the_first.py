# verdict: wrong, diagnosis: unrecognised
import numpy as np


def step_bytes(shape, work, per_node):
    d, p, t = shape
    a = np.arange(d * p * t).reshape(shape)
    out = {axis: {"inside": 0.0, "between": 0.0} for axis in ("data", "pipeline", "tensor")}

    def kind(x, y):
        return "inside" if x // per_node == y // per_node else "between"

    def rings(axis, name, nbytes):
        n = shape[axis]
        for g in np.moveaxis(a, axis, -1).reshape(-1, n).tolist():
            for i in range(n):
                out[name][kind(g[i], g[(i + 1) % n])] += 2 * (n - 1) / n * nbytes

    rings(0, "data", work["gradient_bytes"])
    rings(2, "tensor", work["tensor_bytes"] * 4 * work["layers"] * work["micro_batches"])
    for x, y in zip(np.repeat(a[:, :-1, 0], t).ravel().tolist(), np.repeat(a[:, 1:, 0], t).ravel().tolist()):
        out["pipeline"][kind(x, y)] += 2 * work["micro_batches"] * work["hop_bytes"]
    return out
