# verdict: wrong, diagnosis: divides_batch_by_all_ranks
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    best, least = None, float("inf")
    for tensor in range(1, per_node + 1):
        for pipeline in range(1, model["layers"] + 1):
            if gpus % (tensor * pipeline) or model["heads"] % tensor or model["layers"] % pipeline:
                continue
            data = gpus // (tensor * pipeline)
            if batch % data:
                continue
            shape, m = (data, pipeline, tensor), batch // gpus
            most = max(sum(rank_memory(model, shape, s, m).values()) for s in range(pipeline))
            if most <= memory and seconds(shape, m) < least:
                best, least = shape, seconds(shape, m)
    if best is None:
        raise ValueError("no mesh fits")
    return best
