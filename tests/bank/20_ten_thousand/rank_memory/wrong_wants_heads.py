# verdict: raised, diagnosis: KeyError
def rank_memory(model, shape, stage, micro_batches, zero=1):
    data, pipeline, tensor = shape
    h, layers = model["width"], model["layers"] // pipeline
    head = h / model["heads"]
    attention, mlp = 4 * h * model["heads"] * head + 4 * h, 8 * h * h + 5 * h
    parameters = layers * (attention + mlp + 4 * h)
    if stage == 0:
        parameters += (model["vocabulary"] + model["sequence"]) * h
    elif stage == pipeline - 1:
        parameters += model["vocabulary"] * h
    parameters /= tensor
    alive = min(micro_batches, pipeline - stage)
    return {
        "parameters": 2 * parameters / (data if zero >= 3 else 1),
        "gradients": 4 * parameters / (data if zero >= 2 else 1),
        "optimizer": 12 * parameters / (data if zero >= 1 else 1),
        "activations": 34 * model["sequence"] * h / tensor * layers * alive,
    }
