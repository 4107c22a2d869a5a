# verdict: passed
# differs: The FLOPs of a forward pass once, and then passes are counted: three for the model, four for what was done.
def mfu_and_hfu(tokens_per_second, model, gpus, peak, recompute):
    forward = 2 * model["parameters"] + 4 * model["layers"] * model["width"] * model["sequence"]
    per_gpu = tokens_per_second / gpus
    passes = {"none": 3, "full": 4}[recompute]
    return [per_gpu * n * forward / peak for n in (3, passes)]
