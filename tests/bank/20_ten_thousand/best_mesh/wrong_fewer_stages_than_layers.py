# verdict: wrong, diagnosis: most_replicas
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for tensor in range(1, per_node + 1):
        for pipeline in range(1, model["layers"]):
            data, rest = divmod(gpus, tensor * pipeline)
            if rest or not data or batch % data or model["heads"] % tensor or model["layers"] % pipeline:
                continue
            shape, m = (data, pipeline, tensor), batch // data
            if max(sum(rank_memory(model, shape, s, m).values()) for s in range(pipeline)) <= memory:
                found[shape] = seconds(shape, m)
    if not found:
        raise ValueError("no mesh fits")
    return min(found, key=found.get)
