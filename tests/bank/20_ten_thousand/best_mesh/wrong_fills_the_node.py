# verdict: wrong, diagnosis: fills_the_node
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    best, least = None, float("inf")
    for tensor in (per_node,):
        for pipeline in range(1, model["layers"] + 1):
            if gpus % (tensor * pipeline) or model["heads"] % tensor or model["layers"] % pipeline:
                continue
            data = gpus // (tensor * pipeline)
            if batch % data:
                continue
            shape, m = (data, pipeline, tensor), batch // data
            most = max(sum(rank_memory(model, shape, s, m).values()) for s in range(pipeline))
            if most <= memory and seconds(shape, m) < least:
                best, least = shape, seconds(shape, m)
    if best is None:
        raise ValueError("no mesh fits")
    return best
