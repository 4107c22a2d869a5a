# verdict: wrong, diagnosis: refuses_what_can_be
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for data in range(1, gpus):
        for tensor in range(1, per_node + 1):
            pipeline, rest = divmod(gpus, data * tensor)
            if rest or not pipeline or batch % data or model["heads"] % tensor or model["layers"] % pipeline:
                continue
            shape, m = (data, pipeline, tensor), batch // data
            if max(sum(rank_memory(model, shape, s, m).values()) for s in range(pipeline)) <= memory:
                found[shape] = seconds(shape, m)
    if not found:
        raise ValueError("no mesh fits")
    return min(found, key=found.get)
