# verdict: wrong, diagnosis: tp_across_nodes
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    """Everything in one tensor group, as long as there are heads."""
    tensor = max(n for n in range(1, gpus + 1) if gpus % n == 0 and model["heads"] % n == 0)
    for pipeline in range(1, model["layers"] + 1):
        data = gpus // (tensor * pipeline)
        if data and data * tensor * pipeline == gpus:
            if sum(rank_memory(model, (data, pipeline, tensor), 0, batch // data).values()) <= memory:
                return data, pipeline, tensor
    raise ValueError("no mesh fits")
