# verdict: wrong, diagnosis: does_not_come_out_even
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    for data in range(gpus, 0, -1):
        for tensor in range(1, per_node + 1):
            pipeline, rest = divmod(gpus, data * tensor)
            if rest or not pipeline or batch % data or model["layers"] % pipeline:
                continue
            m = batch // data
            if max(sum(rank_memory(model, (data, pipeline, tensor), s, m).values()) for s in range(pipeline)) <= memory:
                return data, pipeline, tensor
    raise ValueError("no mesh fits")
