# verdict: passed
# differs: No search for the fastest: as many replicas as the memory allows, then as few tensor ranks. It is within the limit, not always the best.
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    """As many replicas as fit, then as few tensor ranks: within 5 %, not always the best."""
    for data in range(gpus, 0, -1):
        for tensor in range(1, per_node + 1):
            pipeline, rest = divmod(gpus, data * tensor)
            if rest or not pipeline or batch % data or model["heads"] % tensor or model["layers"] % pipeline:
                continue
            m = batch // data
            if max(sum(rank_memory(model, (data, pipeline, tensor), s, m).values()) for s in range(pipeline)) <= memory:
                return data, pipeline, tensor
    raise ValueError("no mesh fits")
