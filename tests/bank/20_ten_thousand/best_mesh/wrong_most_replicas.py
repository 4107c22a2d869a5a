# verdict: wrong, diagnosis: most_replicas
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    for pipeline in range(1, model["layers"] + 1):
        if gpus % pipeline or model["layers"] % pipeline:
            continue
        for tensor in range(1, per_node + 1):
            data, rest = divmod(gpus, pipeline * tensor)
            if rest or batch % data or model["heads"] % tensor:
                continue
            m = batch // data
            if max(sum(rank_memory(model, (data, pipeline, tensor), s, m).values()) for s in range(pipeline)) <= memory:
                return data, pipeline, tensor
    raise ValueError("no mesh fits")
