# verdict: passed
# differs: The ranks as an array, shifted by one along an axis: where the node differs from the neighbour's, the edge goes between nodes.
import numpy as np


def step_bytes(shape, work, per_node):
    ranks = np.arange(np.prod(shape)).reshape(shape)
    node, found = ranks // per_node, {}
    each = {
        "data": work["gradient_bytes"],
        "tensor": 4 * work["micro_batches"] * work["layers"] * work["tensor_bytes"],
    }
    for place, axis in enumerate(("data", "pipeline", "tensor")):
        crosses = node != np.roll(node, -1, place)
        if axis == "pipeline":
            crosses = crosses[:, :-1]
            bytes_of_edge = 2 * work["micro_batches"] * work["hop_bytes"]
        else:
            bytes_of_edge = 2 * (shape[place] - 1) / shape[place] * each[axis]
        between = int(crosses.sum())
        found[axis] = {
            "inside": (crosses.size - between) * bytes_of_edge,
            "between": between * bytes_of_edge,
        }
    return found
