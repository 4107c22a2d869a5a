# verdict: wrong, diagnosis: does_not_come_out_even
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    """As many stages as ranks, or as there are micro-batches."""
    for pipeline in range(3, gpus + 1):
        if gpus % pipeline == 0 and model["layers"] % pipeline:
            return gpus // pipeline, pipeline, 1
    raise ValueError("no mesh fits")
