# verdict: passed
def step_bytes(shape, work, per_node):
    from labkit.scale import Mesh, Step, nodes, traffic

    data, pipeline, tensor = shape
    step = Step(Mesh(tensor, 1, pipeline, data), **work)
    found = traffic(step, nodes(per_node))
    return {
        axis: {kind: found[axis].get(kind, 0) for kind in ("inside", "between")}
        for axis in ("tensor", "pipeline", "data")
    }
